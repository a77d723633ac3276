// Where a token stands. Attention alone does not see order; these signals, added to the embeddings,
// let it. Relative positions live inside attention instead (nn/attention.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/layers.h"

namespace heed {

// How the sinusoids are laid out over the columns; rates fall geometrically from 1 to 1/10000.
enum class Sinusoids {
  interleaved,  // the paper: sin(t / 10000^(2i/width)) in the even columns 2i, cos in the odd ones
  halves,       // tensor2tensor: all sines, then all cosines; the last rate is exactly 1/10000
};

// [length, width] in f32: the signals of positions first, first + 1, ...
Tensor sinusoidal_positions(int64_t length, int64_t width,
                            Sinusoids layout = Sinusoids::interleaved, int64_t first = 0);

struct PositionsConfig {
  std::string kind = "sinusoidal";  // sinusoidal, sinusoidal_halves, learned or none
  int64_t width = 512;
  int64_t longest = 1024;  // of learned positions
  int64_t first = 0;       // number of the first position
};

// Where tokens [B,T] stand that a decoder is shown.
struct Places {
  std::span<const int64_t> past = {};     // tokens of each row that came before; empty: none
  std::span<const int64_t> lengths = {};  // of each row; what follows is padding and may stand
                                          // anywhere; empty: all are T

  int64_t before(int64_t row) const { return past.empty() ? 0 : past[static_cast<size_t>(row)]; }
  int64_t length(int64_t row, int64_t all) const {
    return lengths.empty() ? all : lengths[static_cast<size_t>(row)];
  }
};

// Where each of B rows begins while a tape is in scope: drawn from the
// tape, from 0 to `most`, so that a model that learns from short sequences sees the positions of
// longer ones. Without a tape, and with 0, there are none: rows begin at position 0.
std::vector<int64_t> random_offsets(int64_t rows, int64_t most);

class Positions {
 public:
  Positions(const Scope& s, const PositionsConfig& config);

  // x [B,T,C] whose first column stands at position `past`, with the signals added.
  Tensor operator()(const Tensor& x, int64_t past = 0) const;
  // The same where each row has a past of its own. For decoding.
  Tensor operator()(const Tensor& x, const Places& places) const;

 private:
  // [steps, C], of which the first `length` count.
  Tensor signals(int64_t past, int64_t steps, int64_t length) const;

  PositionsConfig config_;
  std::optional<Embedding> learned_;
  Tensor table_;  // f32 [kTable, C], of sinusoids
};

}  // namespace heed
