// Prediction by partial matching (Cleary and Witten 1984): what a compressor knows about the next
// byte by what followed the last few bytes before. A yardstick for character models.
//
// The variant is PPMD (Howard 1993) with exclusion: in the context of the last `order` bytes, a
// byte seen c times has (2c - 1) / 2n of the probability, where n is the sum of all c; what is left
// is for bytes that never followed, which the next shorter context tells apart, without those that
// the longer one has ruled out. Counts change only in contexts at least as long as the one that
// knew the byte. Nothing is approximated: code lengths are those of an arithmetic coder that is
// told the same fractions.
//
// Copies are independent. Not thread safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heed {

// What an arithmetic coder is told: the part [low, high) of [0, total).
struct CodingStep {
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t total = 0;
};

class Ppm {
 public:
  static constexpr int kMostOrder = 16;

  // Contexts of at most so many bytes.
  explicit Ppm(int order = 5);

  // How the byte would be said now: one step for each context that does not know it, and one for
  // the one that does.
  std::vector<CodingStep> steps(uint8_t byte) const;
  double probability(uint8_t byte) const;
  // The byte was said.
  void learn(uint8_t byte);

  // Says a text byte by byte and learns each: the bits that this takes.
  double code(std::string_view text);

  size_t contexts() const { return nodes_.size(); }

 private:
  // A string that was seen, as the child of the string without its last byte. 0 is no node.
  struct Node {
    uint32_t child = 0;    // the first that continues it
    uint32_t next = 0;     // continues the same string with another byte
    uint32_t shorter = 0;  // the string without its first byte
    uint32_t count = 0;
    uint8_t byte = 0;  // the last
  };

  uint32_t find(uint32_t parent, uint8_t byte) const;
  uint32_t find_or_add(uint32_t parent, uint8_t byte);
  // Appends the steps of a byte and returns the context that knows it, or 0.
  uint32_t add_steps(uint8_t byte, std::vector<CodingStep>& steps) const;
  void learn_from(uint8_t byte, uint32_t known);

  int order_;
  std::vector<Node> nodes_;
  uint32_t context_;  // the longest string that the text ends with
  int length_ = 0;    // of it
};

}  // namespace heed
