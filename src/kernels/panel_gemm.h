// f32 products with a weight that was packed once: C = relu?(A * B^T + bias) for inference.
//
// Every element of C is one chain of fused multiply-adds over k in order, whatever m is and however
// the work is split. So a row gives the same bits alone, in any batch and on any number of threads,
// which matrix products of libraries do not promise; translations depend on it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::kernels {

// Columns of B that lie together: [ceil(n / kPanel)][k][kPanel], padded with zeros.
inline constexpr int64_t kPanel = 32;

inline size_t panel_packed_size(int64_t n, int64_t k) {
  return static_cast<size_t>((n + kPanel - 1) / kPanel * kPanel * k);
}
// b is [n, k] with rows ldb apart.
void pack_panels(const float* b, int64_t ldb, int64_t n, int64_t k, float* packed);

struct PanelGemm {
  int64_t m, n, k;
  const float* a;  // [m, k]
  int64_t lda;
  const float* packed_b;
  float* c;  // [m, n]
  int64_t ldc;
  const float* bias = nullptr;  // [n]
  bool relu = false;
};
void panel_gemm(const PanelGemm& args);

}  // namespace heed::kernels
