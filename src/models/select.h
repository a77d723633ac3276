// Rows of what a decoder remembers: how the models' step() and select() check and pick them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "nn/select_rows.h"
#include "tensor/tensor.h"

namespace heed {

// What follows each row's last token: x [R,T,C] -> [R,C]. No lengths: all have T.
inline Tensor last_rows(const Tensor& x, std::span<const int64_t> lengths) {
  const int64_t steps = x.dim(1);
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < x.dim(0); ++r) {
    rows.push_back(r * steps + (lengths.empty() ? steps : lengths[static_cast<size_t>(r)]) - 1);
  }
  return select_rows(x.reshape({x.dim(0) * steps, x.dim(2)}), rows);
}

// The tokens of all rows one after the other: x [R,T,C] -> [N,C].
inline Tensor without_padding(const Tensor& x, std::span<const int64_t> lengths) {
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < x.dim(0); ++r) {
    for (int64_t t = 0; t < lengths[static_cast<size_t>(r)]; ++t) {
      rows.push_back(r * x.dim(1) + t);
    }
  }
  return select_rows(x.reshape({x.dim(0) * x.dim(1), x.dim(2)}), rows);
}

// Tokens [R,T] with a length for each row, from `least` to T.
inline void check_lengths(std::string_view model, const Tensor& tokens,
                          std::span<const int64_t> lengths, int64_t least) {
  check(tokens.rank() == 2 && tokens.size() > 0 && std::ssize(lengths) == tokens.dim(0),
        "[{}] tokens is {} with {} lengths, expected [R,T] with R of them", model, tokens.shape(),
        lengths.size());
  for (const int64_t length : lengths) {
    check(least <= length && length <= tokens.dim(1), "[{}] a row has {} tokens, expected {} to {}",
          model, length, least, tokens.dim(1));
  }
}

// The tokens [R,T] and lengths that LanguageModel::step() allows after `past` tokens.
inline void check_rows(std::string_view model, const Tensor& tokens,
                       std::span<const int64_t> lengths, int64_t past) {
  check(tokens.rank() == 2 && tokens.size() > 0, "[{}] tokens is {}, expected [B,T]", model,
        tokens.shape());
  check(lengths.empty() || (past == 0 && std::ssize(lengths) == tokens.dim(0)),
        "[{}] {} lengths for {} rows after {} tokens, expected one each at the beginning", model,
        lengths.size(), tokens.dim(0), past);
  if (!lengths.empty()) {
    check_lengths(model, tokens, lengths, 1);
  }
}

}  // namespace heed
