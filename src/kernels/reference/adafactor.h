// The maths of kernels/optimizer/adafactor.h, obvious and slow: the paper's Algorithm 4, with its
// sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/optimizer/adafactor.h"

namespace heed::reference {

// What a step reads besides g, and changes: row and column hold sums, not means.
template <typename T>
struct AdafactorState {
  std::vector<T> w, m, row, column;
};

template <typename T>
void adafactor(const kernels::Adafactor& args, AdafactorState<T>& state, std::vector<T> g) {
  const auto rows = static_cast<size_t>(args.rows);
  const auto columns = static_cast<size_t>(args.columns);
  std::vector<T> row_sum(rows);
  std::vector<T> column_sum(columns);
  for (size_t i = 0; i < g.size(); ++i) {
    g[i] *= T(args.grad_scale);
    row_sum[i / columns] += g[i] * g[i] + T(args.epsilon);
    column_sum[i % columns] += g[i] * g[i] + T(args.epsilon);
  }
  T total = 0;
  for (size_t i = 0; i < rows; ++i) {
    state.row[i] = T(args.beta2) * state.row[i] + (1 - T(args.beta2)) * row_sum[i];
    total += state.row[i];
  }
  for (size_t j = 0; j < columns; ++j) {
    state.column[j] = T(args.beta2) * state.column[j] + (1 - T(args.beta2)) * column_sum[j];
  }
  T squares = 0;
  std::vector<T> u(g.size());
  for (size_t i = 0; i < g.size(); ++i) {
    u[i] = g[i] / std::sqrt(state.row[i / columns] * state.column[i % columns] / total);
    squares += u[i] * u[i];
  }
  const T rms = std::sqrt(squares / T(g.size()));
  for (size_t i = 0; i < g.size(); ++i) {
    T change = T(args.lr) * u[i] / std::max(T(1), rms / T(args.clip));
    if (args.m != nullptr) {
      change = state.m[i] = T(args.beta1) * state.m[i] + (1 - T(args.beta1)) * change;
    }
    state.w[i] -= change + T(args.lr) * T(args.weight_decay) * state.w[i];
  }
}

}  // namespace heed::reference
