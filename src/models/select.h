// Rows of what a decoder remembers: how the models' step() and select() check and pick them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/shape/gather.h"
#include "tensor/tensor.h"

namespace heed {

// Row i of the result is row rows[i] of t. The rows as they are give t itself.
inline Tensor select_rows(const Tensor& t, std::span<const int64_t> rows) {
  if (!t.defined()) {
    return t;
  }
  bool same = static_cast<int64_t>(rows.size()) == t.dim(0);
  for (size_t i = 0; same && i < rows.size(); ++i) {
    same = rows[i] == static_cast<int64_t>(i);
  }
  if (same) {
    return t;
  }
  const std::vector<int32_t> indices(rows.begin(), rows.end());
  return index_select(t, 0, Tensor::from_ints(indices, {static_cast<int64_t>(indices.size())}));
}

// What follows each row's last token: x [R,T,C] -> [R,C]. No lengths: all have T.
inline Tensor last_rows(const Tensor& x, std::span<const int64_t> lengths) {
  const int64_t steps = x.dim(1);
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < x.dim(0); ++r) {
    rows.push_back(r * steps + (lengths.empty() ? steps : lengths[static_cast<size_t>(r)]) - 1);
  }
  return select_rows(x.reshape({x.dim(0) * steps, x.dim(2)}), rows);
}

// The tokens [R,T] and lengths that LanguageModel::step() allows after `past` tokens.
inline void check_rows(std::string_view model, const Tensor& tokens,
                       std::span<const int64_t> lengths, int64_t past) {
  check(tokens.rank() == 2 && tokens.size() > 0, "[{}] tokens is {}, expected [B,T]", model,
        tokens.shape());
  check(lengths.empty() || (past == 0 && std::ssize(lengths) == tokens.dim(0)),
        "[{}] {} lengths for {} rows after {} tokens, expected one each at the beginning", model,
        lengths.size(), tokens.dim(0), past);
  for (const int64_t length : lengths) {
    check(1 <= length && length <= tokens.dim(1), "[{}] a row has {} tokens, expected 1 to {}",
          model, length, tokens.dim(1));
  }
}

}  // namespace heed
