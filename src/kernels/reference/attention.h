// Attention as its formula says, one logit at a time; see kernels/attention/attention.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace heed::reference {

struct Attention {
  int64_t batch, heads, kv_heads, queries, keys, dim;
  double scale;
  int64_t relative_rows = 0;
  int64_t relative_center = 0;
  bool relative_shared = false;
  int64_t label_rows = 0;
  std::function<int64_t(int64_t b, int64_t j)> label = nullptr;  // of the position of key j
  std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> visible;
  std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> bias = nullptr;
  std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> keep = nullptr;
};

template <typename T>
struct AttentionOutput {
  std::vector<T> y;        // [B,Tq,H,D]
  std::vector<T> weights;  // [B,H,Tq,Tk], before dropout
};

// q [B,Tq,H,D], k and v [B,Tk,Hk,D], e [H,R,D] or [R,D] or empty, z [B,Tq,H,L] or empty, c [H,R] or
// empty.
template <typename T>
AttentionOutput<T> attention(const Attention& a, std::span<const T> q, std::span<const T> k,
                             std::span<const T> v, std::span<const T> e, std::span<const T> z = {},
                             std::span<const T> c = {}) {
  AttentionOutput<T> out{std::vector<T>(a.batch * a.queries * a.heads * a.dim, T(0)),
                         std::vector<T>(a.batch * a.heads * a.queries * a.keys, T(0))};
  const auto dot = [&](const T* x, const T* y) {
    T total = 0;
    for (int64_t d = 0; d < a.dim; ++d) {
      total += x[d] * y[d];
    }
    return total;
  };
  const auto row = [&](int64_t b, int64_t h, int64_t i) {
    const int64_t kv = h / (a.heads / a.kv_heads);
    const T* query = &q[((b * a.queries + i) * a.heads + h) * a.dim];
    T* weights = &out.weights[((b * a.heads + h) * a.queries + i) * a.keys];
    T* y = &out.y[((b * a.queries + i) * a.heads + h) * a.dim];
    T total = 0;
    for (int64_t j = 0; j < a.keys; ++j) {
      if (!a.visible(b, h, i, j)) {
        continue;
      }
      T logit = dot(query, &k[((b * a.keys + j) * a.kv_heads + kv) * a.dim]);
      if (!e.empty()) {
        const int64_t r = std::clamp<int64_t>(j - (i + a.keys - a.queries) + a.relative_center, 0,
                                              a.relative_rows - 1);
        logit += dot(query, &e[((a.relative_shared ? 0 : h) * a.relative_rows + r) * a.dim]);
        logit += c.empty() ? T(0) : c[h * a.relative_rows + r];
      }
      if (!z.empty()) {
        const int64_t difference = a.label(b, j) - a.label(b, i + a.keys - a.queries);
        const int64_t r = std::clamp<int64_t>(difference + a.label_rows / 2, 0, a.label_rows - 1);
        logit += z[((b * a.queries + i) * a.heads + h) * a.label_rows + r];
      }
      weights[j] = std::exp(logit * T(a.scale) + (a.bias ? T(a.bias(b, h, i, j)) : T(0)));
      total += weights[j];
    }
    for (int64_t j = 0; j < a.keys; ++j) {
      weights[j] = total > 0 ? weights[j] / total : T(0);
      const T kept = weights[j] * (a.keep ? T(a.keep(b, h, i, j)) : T(1));
      for (int64_t d = 0; d < a.dim; ++d) {
        y[d] += kept * v[((b * a.keys + j) * a.kv_heads + kv) * a.dim + d];
      }
    }
  };
  for (int64_t b = 0; b < a.batch; ++b) {
    for (int64_t h = 0; h < a.heads; ++h) {
      for (int64_t i = 0; i < a.queries; ++i) {
        row(b, h, i);
      }
    }
  }
  return out;
}

}  // namespace heed::reference
