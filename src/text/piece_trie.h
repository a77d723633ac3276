// The pieces of a vocabulary as a tree of bytes, which finds the longest piece that a text begins
// with in one pass. Immutable once made; may be used from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

class PieceTrie {
 public:
  // A place in the tree: all pieces that begin with some bytes.
  using Node = uint32_t;
  static constexpr Node kRoot = 0;

  struct Match {
    int32_t id = -1;
    size_t length = 0;
  };

  // An id is a place in the list. Throws an Error that begins with [where] if two are the same.
  PieceTrie(const std::vector<std::string>& pieces, std::string_view where);

  std::optional<Node> walk(Node from, std::string_view text) const;
  // The piece itself, not what it begins with.
  std::optional<int32_t> find(std::string_view piece) const;
  // The longest of at least one byte on the way from a node along the text; id -1 if none.
  Match longest(Node from, std::string_view text) const;

 private:
  // A node is the number of its slot, found by the hash of the edge that leads to it. Eight bytes
  // each: the table should stay in the cache.
  struct Slot {
    uint32_t edge = 0;  // 0: free
    int32_t id = -1;    // -1: no piece ends here
  };
  static uint32_t edge_of(Node parent, char byte) {
    return ((parent << 8U) | static_cast<uint8_t>(byte)) + 1;
  }
  // Where the edge leads, or the free slot where it belongs.
  Node slot_of(uint32_t edge) const;

  std::vector<Slot> slots_;  // a power of two; 0 is the root
  unsigned shift_ = 0;
};

}  // namespace heed
