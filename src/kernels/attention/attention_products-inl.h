// The matrix products of attention over blocks of one head, in two forms with one interface:
// FloatProducts (f32, any CPU; bf16 operands are widened) and PanelProducts (bf16 where the CPU has
// instructions for it).
//
//   logits    S = Q_i K_j^T            values     Y += P V_j
//   embedded  Z = Q_i E^T              d_values   dP = dY_i V_j^T
//   d_query   dQ += dS K_j             d_keys     dK += dS^T Q_i, dV += P^T dY_i
//   d_query_relative  dQ += dZ E       d_relative dE += dZ^T Q_i
//
// Weight is the type in which P and dS are kept.
#if defined(HEED_KERNELS_ATTENTION_ATTENTION_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_ATTENTION_PRODUCTS_INL_H_
#undef HEED_KERNELS_ATTENTION_ATTENTION_PRODUCTS_INL_H_
#else
#define HEED_KERNELS_ATTENTION_ATTENTION_PRODUCTS_INL_H_
#endif

#include "kernels/attention/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Embeddings are multiplied in units of this many rows when they stand on the inner side.
inline constexpr int64_t kRelativeUnit = 64;

// One head's operands; dy is null in the forward pass.
template <typename T>
struct HeadData {
  const T* q;
  const T* k;
  const T* v;
  const T* relative;
  const T* dy;
  int64_t q_row, k_row, v_row, dy_row;
};

template <typename T>
HWY_INLINE HeadData<T> head_data(const kernels::Attention& a, const kernels::HeadRows* dy,
                                 int64_t b, int64_t head) {
  const int64_t kv_head = head / (a.heads / a.kv_heads);
  const int64_t table = a.relative_shared ? 0 : head;
  return {.q = a.q.at<const T>(b, head, a.head_dim),
          .k = a.k.at<const T>(b, kv_head, a.head_dim),
          .v = a.v.at<const T>(b, kv_head, a.head_dim),
          .relative = a.relative == nullptr ? nullptr
                                            : static_cast<const T*>(a.relative) +
                                                  table * a.relative_rows * a.head_dim,
          .dy = dy == nullptr ? nullptr : dy->at<const T>(b, head, a.head_dim),
          .q_row = a.q.row,
          .k_row = a.k.row,
          .v_row = a.v.row,
          .dy_row = dy == nullptr ? 0 : dy->row};
}

template <typename T>
class FloatProducts {
 public:
  using Weight = float;

  FloatProducts(const kernels::Attention& a, const HeadData<T>& head)
      : d_(a.head_dim),
        ld_keys_(round_up(a.keys, kPanelWidth)),
        ld_relative_(round_up(a.relative_rows, kPanelWidth)) {
    thread_local Scratch scratch;
    const int64_t widened = d_ * (2 * a.queries + 2 * a.keys + a.relative_rows);
    const int64_t transposed = d_ * (2 * ld_keys_ + ld_relative_);
    Pieces pieces(scratch, (widened + transposed) * 4 + 1024);
    q_ = float_rows(head.q, head.q_row, a.queries, d_, pieces.take<float>(a.queries * d_));
    k_ = float_rows(head.k, head.k_row, a.keys, d_, pieces.take<float>(a.keys * d_));
    v_ = float_rows(head.v, head.v_row, a.keys, d_, pieces.take<float>(a.keys * d_));
    float* kt = pieces.take<float>(d_ * ld_keys_);
    transpose_to_float(head.k, head.k_row, a.keys, d_, kt, ld_keys_);
    kt_ = kt;
    if (head.relative != nullptr) {
      e_ = float_rows(head.relative, d_, a.relative_rows, d_,
                      pieces.take<float>(a.relative_rows * d_));
      float* et = pieces.take<float>(d_ * ld_relative_);
      transpose_to_float(head.relative, d_, a.relative_rows, d_, et, ld_relative_);
      et_ = et;
    }
    if (head.dy != nullptr) {
      dy_ = float_rows(head.dy, head.dy_row, a.queries, d_, pieces.take<float>(a.queries * d_));
      float* vt = pieces.take<float>(d_ * ld_keys_);
      transpose_to_float(head.v, head.v_row, a.keys, d_, vt, ld_keys_);
      vt_ = vt;
    }
  }

  // Weights may stand where the logits stood.
  float* weights_for(float* logits, bf16*) { return logits; }

  void logits(const Block& block, float* s) { against_keys(block, q_, kt_, s); }
  void d_values(const Block& block, float* dp) { against_keys(block, dy_, vt_, dp); }
  void embedded(const Block& block, const Range& range, float* z, int64_t ld) {
    gemm(block.queries, range.end - range.begin, d_, rows(q_, block.query), et_ + range.begin,
         ld_relative_, z, ld, false);
  }
  void values(const Block& block, const float* p, float* y) {
    gemm(block.queries, d_, block.end - block.begin, {p + block.begin, block.ld},
         rows(v_, block.key + block.begin).data, v_.row, y, d_, true);
  }
  void d_query(const Block& block, const float* ds, float* dq) {
    gemm(block.queries, d_, block.end - block.begin, {ds + block.begin, block.ld},
         rows(k_, block.key + block.begin).data, k_.row, dq, d_, true);
  }
  void d_key(const Block& block, const float* ds, float* dk) {
    gemm_transposed(block.end - block.begin, block.queries, ds + block.begin, block.ld,
                    rows(q_, block.query), dk + block.begin * d_);
  }
  void d_value(const Block& block, const float* p, float* dv) {
    gemm_transposed(block.end - block.begin, block.queries, p + block.begin, block.ld,
                    rows(dy_, block.query), dv + block.begin * d_);
  }
  void d_query_relative(const Block& block, const Range& range, const float* dz, int64_t ld,
                        float* dq) {
    gemm(block.queries, d_, range.end - range.begin, {dz, ld}, rows(e_, range.begin).data, e_.row,
         dq, d_, true);
  }
  void d_relative(const Block& block, const Range& range, const float* dz, int64_t ld, float* de) {
    gemm_transposed(range.end - range.begin, block.queries, dz, ld, rows(q_, block.query),
                    de + range.begin * d_);
  }

 private:
  static FloatRows rows(const FloatRows& all, int64_t first) {
    return {all.data + first * all.row, all.row};
  }
  void against_keys(const Block& block, const FloatRows& left, const float* right, float* out) {
    gemm(block.queries, block.end - block.begin, d_, rows(left, block.query),
         right + block.key + block.begin, ld_keys_, out + block.begin, block.ld, false);
  }
  static void gemm(int64_t m, int64_t n, int64_t k, FloatRows a, const float* b, int64_t ldb,
                   float* c, int64_t ldc, bool accumulate) {
    block_gemm({.m = size_t(m),
                .n = size_t(n),
                .k = size_t(k),
                .a = a.data,
                .a_row = size_t(a.row),
                .a_column = 1,
                .b = b,
                .ldb = size_t(ldb),
                .c = c,
                .ldc = size_t(ldc),
                .accumulate = accumulate});
  }
  // C[m, d] += A[k, m]^T B[k, d]
  void gemm_transposed(int64_t m, int64_t k, const float* a, int64_t lda, FloatRows b, float* c) {
    block_gemm({.m = size_t(m),
                .n = size_t(d_),
                .k = size_t(k),
                .a = a,
                .a_row = 1,
                .a_column = size_t(lda),
                .b = b.data,
                .ldb = size_t(b.row),
                .c = c,
                .ldc = size_t(d_),
                .accumulate = true});
  }

  int64_t d_;
  int64_t ld_keys_;
  int64_t ld_relative_;
  FloatRows q_{}, k_{}, v_{}, e_{}, dy_{};
  const float* kt_ = nullptr;
  const float* vt_ = nullptr;
  const float* et_ = nullptr;
};

class PanelProducts {
 public:
  using Weight = bf16;

  PanelProducts(const kernels::Attention& a, const HeadData<bf16>& head)
      : d_(a.head_dim), key_block_(key_block_of(a)), head_(head) {
    thread_local Scratch scratch;
    const bool backward = head.dy != nullptr;
    const int64_t transposed = size(d_, a.keys);
    const int64_t by_key = units(a.keys, key_block_) * size(key_block_, d_);
    const int64_t by_query = units(a.queries, kQueryBlock) * size(kQueryBlock, d_);
    const int64_t relative =
        size(d_, a.relative_rows) + units(a.relative_rows, kRelativeUnit) * size(kRelativeUnit, d_);
    const int64_t block = kQueryBlock * 2 * (kMostKeyBlock + kQueryBlock + 2 * kPanelWidth);
    Pieces pieces(scratch,
                  2 * (2 * transposed + 2 * by_key + 2 * by_query + relative + block) + 1024);
    turned_ = pieces.take<bf16>(block);
    kt_ = pack_transposed(head.k, head.k_row, a.keys, pieces.take<bf16>(transposed));
    if (backward) {
      vt_ = pack_transposed(head.v, head.v_row, a.keys, pieces.take<bf16>(transposed));
      k_ = pack_units(head.k, head.k_row, a.keys, key_block_, pieces.take<bf16>(by_key));
      q_ = pack_units(head.q, head.q_row, a.queries, kQueryBlock, pieces.take<bf16>(by_query));
      dy_ = pack_units(head.dy, head.dy_row, a.queries, kQueryBlock, pieces.take<bf16>(by_query));
    } else {
      v_ = pack_units(head.v, head.v_row, a.keys, key_block_, pieces.take<bf16>(by_key));
    }
    if (head.relative != nullptr) {
      et_ = pack_transposed(head.relative, d_, a.relative_rows,
                            pieces.take<bf16>(size(d_, a.relative_rows)));
      if (backward) {
        e_ = pack_units(
            head.relative, d_, a.relative_rows, kRelativeUnit,
            pieces.take<bf16>(units(a.relative_rows, kRelativeUnit) * size(kRelativeUnit, d_)));
        relative_rows_ = a.relative_rows;
      }
    }
  }

  bf16* weights_for(float*, bf16* separate) { return separate; }

  void logits(const Block& block, float* s) {
    against_keys(block, head_.q + block.query * head_.q_row, head_.q_row, kt_, s);
  }
  void d_values(const Block& block, float* dp) {
    against_keys(block, head_.dy + block.query * head_.dy_row, head_.dy_row, vt_, dp);
  }
  void embedded(const Block& block, const Range& range, float* z, int64_t ld) {
    panels::block_gemm({block.queries, range.end - range.begin, d_,
                        head_.q + block.query * head_.q_row, head_.q_row,
                        et_ + size(d_, range.begin), z, ld, false});
  }
  void values(const Block& block, const bf16* p, float* y) { by_key(block, p, v_, y); }
  void d_query(const Block& block, const bf16* ds, float* dq) { by_key(block, ds, k_, dq); }
  void d_key(const Block& block, const bf16* ds, float* dk) { by_query(block, ds, q_, dk); }
  void d_value(const Block& block, const bf16* p, float* dv) { by_query(block, p, dy_, dv); }
  // The table is packed in units, so the range is gone through unit by unit.
  void d_query_relative(const Block& block, const Range& range, const bf16* dz, int64_t ld,
                        float* dq) {
    for (int64_t row = range.begin; row < range.end;) {
      const int64_t unit = row / kRelativeUnit;
      const int64_t end = std::min(range.end, (unit + 1) * kRelativeUnit);
      const int64_t skip = row - unit * kRelativeUnit;
      // A unit is as deep as the table leaves it; a range may begin on its second panel.
      const int64_t depth = std::min(kRelativeUnit, relative_rows_ - unit * kRelativeUnit);
      const bf16* packed = e_ + unit * size(kRelativeUnit, d_);
      const bf16* left = dz + (row - range.begin);
      if (skip == 0 && end - row == depth) {
        panels::block_gemm({block.queries, d_, depth, left, ld, packed, dq, d_, true});
      } else {
        copy_padded(block.queries, end - row, left, ld, skip, depth);
        panels::block_gemm(
            {block.queries, d_, depth, turned_, kRelativeUnit, packed, dq, d_, true});
      }
      row = end;
    }
  }
  void d_relative(const Block& block, const Range& range, const bf16* dz, int64_t ld, float* de) {
    const int64_t rows = range.end - range.begin;
    panels::transpose(dz, ld, block.queries, rows, turned_, kQueryBlock);
    panels::block_gemm({rows, d_, block.queries, turned_, kQueryBlock,
                        q_ + block.query / kQueryBlock * size(kQueryBlock, d_),
                        de + range.begin * d_, d_, true});
  }

 private:
  static int64_t size(int64_t k, int64_t n) {
    return static_cast<int64_t>(panels::packed_size(k, n));
  }
  static int64_t units(int64_t length, int64_t unit) { return (length + unit - 1) / unit; }

  const bf16* pack_transposed(const bf16* rows, int64_t row, int64_t length, bf16* out) const {
    panels::pack_b_transposed(rows, row, d_, length, out);
    return out;
  }
  const bf16* pack_units(const bf16* rows, int64_t row, int64_t length, int64_t unit,
                         bf16* out) const {
    for (int64_t first = 0; first < length; first += unit) {
      panels::pack_b(rows + first * row, row, std::min(unit, length - first), d_,
                     out + first / unit * size(unit, d_));
    }
    return out;
  }
  void against_keys(const Block& block, const bf16* left, int64_t row, const bf16* right,
                    float* out) const {
    panels::block_gemm({block.queries, block.end - block.begin, d_, left, row,
                        right + size(d_, block.key + block.begin), out + block.begin, block.ld,
                        false});
  }
  // The whole block: columns nobody sees hold zeros.
  void by_key(const Block& block, const bf16* left, const bf16* packed, float* out) const {
    panels::block_gemm({block.queries, d_, block.keys, left, block.ld,
                        packed + block.key / key_block_ * size(key_block_, d_), out, d_, true});
  }
  void by_query(const Block& block, const bf16* left, const bf16* packed, float* out) {
    const int64_t columns = block.end - block.begin;
    panels::transpose(left + block.begin, block.ld, block.queries, columns, turned_, kQueryBlock);
    panels::block_gemm({columns, d_, block.queries, turned_, kQueryBlock,
                        packed + block.query / kQueryBlock * size(kQueryBlock, d_),
                        out + block.begin * d_, d_, true});
  }
  // Puts `columns` columns at column `skip` of rows of `depth`, zeros around them.
  void copy_padded(int64_t rows, int64_t columns, const bf16* from, int64_t ld, int64_t skip,
                   int64_t depth) {
    for (int64_t r = 0; r < rows; ++r) {
      bf16* to = turned_ + r * kRelativeUnit;
      std::fill_n(to, depth, bf16(0.0F));
      std::copy_n(from + r * ld, columns, to + skip);
    }
  }

  panels::BlockScope scope_;
  int64_t d_;
  int64_t key_block_;
  HeadData<bf16> head_;
  int64_t relative_rows_ = 0;
  const bf16* kt_ = nullptr;
  const bf16* vt_ = nullptr;
  const bf16* et_ = nullptr;
  const bf16* q_ = nullptr;
  const bf16* k_ = nullptr;
  const bf16* v_ = nullptr;
  const bf16* dy_ = nullptr;
  const bf16* e_ = nullptr;
  bf16* turned_ = nullptr;
};

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_ATTENTION_ATTENTION_PRODUCTS_INL_H_
