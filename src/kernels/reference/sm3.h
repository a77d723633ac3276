// The maths of kernels/optimizer/sm3.h, obvious and slow: the paper's Algorithm SM3-II.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/optimizer/sm3.h"

namespace heed::reference {

// What a step reads besides g, and changes.
template <typename T>
struct Sm3State {
  std::vector<T> w, m, row, column;
};

template <typename T>
void sm3(const kernels::Sm3& args, Sm3State<T>& state, const std::vector<T>& gradients) {
  const auto columns = static_cast<size_t>(args.columns);
  std::vector<T> row_max(static_cast<size_t>(args.rows));
  std::vector<T> column_max(columns);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const T g = T(args.grad_scale) * gradients[i];
    const T nu = std::min(state.row[i / columns], state.column[i % columns]) + g * g;
    row_max[i / columns] = std::max(row_max[i / columns], nu);
    column_max[i % columns] = std::max(column_max[i % columns], nu);
    T u = nu == 0 ? T(0) : g / std::sqrt(nu);
    if (args.m != nullptr) {
      u = state.m[i] = T(args.beta1) * state.m[i] + (1 - T(args.beta1)) * u;
    }
    state.w[i] -= T(args.lr) * u + T(args.lr) * T(args.weight_decay) * state.w[i];
  }
  state.row = row_max;
  state.column = column_max;
}

}  // namespace heed::reference
