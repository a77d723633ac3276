// Texts and pairs of texts as encoders read them: [CLS] first [SEP], or [CLS] first [SEP] second
// [SEP], in padded batches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/batches.h"
#include "text/tokenizer.h"

namespace heed {

struct EncodedText {
  std::vector<int32_t> tokens;  // special ones included
  int64_t first = 0;            // how many belong to the first text
};

// Joins texts that are encoded already; special tokens that the tokenizer lacks are left out. More
// than `longest` tokens are cut at the end: of a pair the longer text first, special tokens last.
// 0: any length.
EncodedText join_texts(const Tokenizer& tokenizer, std::vector<int32_t> first,
                       std::optional<std::vector<int32_t>> second, int64_t longest);
EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text, int64_t longest);

// B texts, padded to T.
struct HostTexts {
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<int32_t> tokens;   // [B,T]
  std::vector<int32_t> types;    // [B,T] 0, and 1 in the second text
  std::vector<int32_t> lengths;  // [B]
  std::vector<int64_t> indices;  // [B] of each row among all
  int64_t count = 0;             // tokens without padding
};
// The texts with these indices, in this order. A negative `pad` is written as 0.
HostTexts pad_texts(std::span<const EncodedText> texts, std::span<const int64_t> indices,
                    int32_t pad);
// All, sorted by length, in batches of at most `batch_tokens` with padding; a longer text is a
// batch of its own.
std::vector<HostTexts> batch_texts(std::span<const EncodedText> texts, int64_t batch_tokens,
                                   int32_t pad);

// Batches for training, epoch after epoch: shuffled, then sorted by length so that little is
// padding, cut, and the batches shuffled. A pure function of (seed, epoch); every epoch has
// the same number of batches.
class TextEpochs {
 public:
  struct Options {
    int64_t batch_tokens = 4096;
    uint64_t seed = 1;
    int32_t pad = 0;
  };
  TextEpochs(std::vector<EncodedText> texts, const Options& options);

  // The batch at the state; the state moves on.
  HostTexts next(DataState& state);
  int64_t epoch_batches() const { return std::ssize(batches_); }

 private:
  void plan(int64_t epoch);

  std::vector<EncodedText> texts_;
  Options options_;
  int64_t epoch_ = -1;
  std::vector<std::vector<int64_t>> batches_;  // of this epoch
};

}  // namespace heed
