// Pieces that the forward and the backward pass of attention share: which keys a query sees, logits
// of a row, and the products of blocks, in f32 or on AMX tiles.
#if defined(HEED_KERNELS_ATTENTION_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_ATTENTION_INL_H_
#undef HEED_KERNELS_ATTENTION_ATTENTION_INL_H_
#else
#define HEED_KERNELS_ATTENTION_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "base/scratch.h"
#include "kernels/attention/attention.h"
#include "kernels/math-inl.h"
#include "kernels/matmul/block_gemm-inl.h"
#include "kernels/matmul/panels.h"
#include "kernels/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

inline constexpr int64_t kQueryBlock = 64;
inline constexpr int64_t kMostKeyBlock = 256;
// Ranges of keys or embeddings start on multiples of this, the width of an AMX panel.
inline constexpr int64_t kPanelWidth = 32;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// A narrow window in wide blocks would mostly compute what nobody sees.
HWY_INLINE int64_t key_block_of(const kernels::Attention& a) {
  return a.window_left >= 0 && a.window_left <= 1024 ? 128 : kMostKeyBlock;
}

struct Range {
  int64_t begin, end;
  bool empty() const { return begin >= end; }
};

HWY_INLINE int64_t first_position(const kernels::Attention& a, int64_t b) {
  return a.first_positions == nullptr ? a.first_position : a.first_positions[b];
}

// Keys that query i of sequence b may see, before any mask.
HWY_INLINE Range visible_keys(const kernels::Attention& a, int64_t b, int64_t i) {
  const int64_t position = i + first_position(a, b);
  int64_t end = a.key_lengths == nullptr
                    ? a.keys
                    : std::clamp<int64_t>(a.key_lengths[b] / a.key_stride, 0, a.keys);
  if (a.causal) {
    end = std::min(end, (position + 1) / a.key_stride);
  }
  if (a.window_right >= 0) {
    end = std::min(end, position + a.window_right + 1);
  }
  return {a.window_left >= 0 ? std::max<int64_t>(0, position - a.window_left) : 0,
          std::max<int64_t>(end, 0)};
}

// Where a block of queries meets a block of keys. Columns are counted from the block's first key.
struct Block {
  int64_t b, head;
  int64_t query, queries;  // first, count
  int64_t key, keys;       // first, count
  int64_t begin, end;      // columns anybody sees, begin on a panel
  int64_t ld;              // distance of rows of the block's matrices

  bool empty() const { return begin >= end; }
};

HWY_INLINE Block make_block(const kernels::Attention& a, int64_t b, int64_t head, int64_t query,
                            int64_t key) {
  const int64_t key_block = key_block_of(a);
  Block block{.b = b,
              .head = head,
              .query = query,
              .queries = std::min(kQueryBlock, a.queries - query),
              .key = key,
              .keys = std::min(key_block, a.keys - key),
              .begin = 0,
              .end = 0,
              .ld = round_up(std::min(key_block, a.keys), kPanelWidth)};
  const Range first = visible_keys(a, b, query);
  const Range last = visible_keys(a, b, query + block.queries - 1);
  block.begin = std::max<int64_t>(first.begin - key, 0) / kPanelWidth * kPanelWidth;
  block.end = std::min(block.keys, last.end - key);
  return block;
}

// Embeddings that a block touches: rows [begin, end) of the table, begin on a panel.
HWY_INLINE Range relative_range(const kernels::Attention& a, const Block& block) {
  const int64_t last_query = block.query + block.queries - 1;
  const auto row = [&](int64_t key, int64_t query) {
    return std::clamp<int64_t>(key - query - first_position(a, block.b) + a.relative_center, 0,
                               a.relative_rows - 1);
  };
  return {row(block.key + block.begin, last_query) / kPanelWidth * kPanelWidth,
          row(block.key + block.end - 1, block.query) + 1};
}

// Calls fn(columns, embedding, step) for the runs of columns [begin, end) of row i in which the
// embedding's row moves along (step 1) or is clamped (step 0). `embedding` counts from range.begin.
template <typename Fn>
HWY_INLINE void relative_runs(const kernels::Attention& a, const Block& block, const Range& range,
                              int64_t i, Range columns, const Fn& fn) {
  const int64_t offset =
      block.key - (block.query + i) - first_position(a, block.b) + a.relative_center;
  const int64_t low = std::clamp(-offset, columns.begin, columns.end);
  const int64_t high = std::clamp(a.relative_rows - offset, low, columns.end);
  if (columns.begin < low) {
    fn(Range{columns.begin, low}, int64_t{0} - range.begin, 0);
  }
  if (low < high) {
    fn(Range{low, high}, low + offset - range.begin, 1);
  }
  if (high < columns.end) {
    fn(Range{high, columns.end}, a.relative_rows - 1 - range.begin, 0);
  }
}

// The terms of a head's distances alone, or null.
HWY_INLINE const float* relative_bias(const kernels::Attention& a, int64_t head) {
  return a.relative_bias == nullptr ? nullptr : a.relative_bias + head * a.relative_rows;
}

// s += the skewed product of queries and embeddings and the terms of the distances, for the columns
// of one row. The product is written over.
HWY_INLINE void add_relative(const kernels::Attention& a, const Block& block, const Range& range,
                             int64_t i, Range columns, float* product, float* s) {
  if (const float* bias = relative_bias(a, block.head); bias != nullptr) {
    map(
        static_cast<size_t>(range.end - range.begin), product,
        [](FloatVec x, FloatVec y) { return hn::Add(x, y); }, product, bias + range.begin);
  }
  relative_runs(a, block, range, i, columns, [&](Range run, int64_t embedding, int step) HWY_ATTR {
    const size_t n = static_cast<size_t>(run.end - run.begin);
    const float* from = product + embedding;
    float* to = s + run.begin;
    if (step == 1) {
      map(
          n, to, [](FloatVec x, FloatVec y) { return hn::Add(x, y); }, to, from);
    } else {
      const FloatVec constant = set(*from);
      map(
          n, to, [&](FloatVec x) { return hn::Add(x, constant); }, to);
    }
  });
}

// The labels of a block's keys, and what makes them rows of z for one query.
struct RowLabels {
  const int32_t* labels;
  int32_t offset;
  int32_t last;  // row

  int32_t row(int64_t column) const { return std::clamp(labels[column] + offset, 0, last); }
};
HWY_INLINE RowLabels row_labels(const kernels::Attention& a, const Block& block, int64_t i) {
  const int32_t* labels = a.labels + block.b * a.label_stride;
  const int32_t own = labels[block.query + i + first_position(a, block.b)];
  return {labels + block.key, static_cast<int32_t>(a.label_center) - own,
          static_cast<int32_t>(a.label_rows) - 1};
}

// s += z(i, l(i, j)) for the columns of one row.
HWY_INLINE void add_labelled(const kernels::Attention& a, const Block& block, int64_t i,
                             Range columns, float* s) {
  HWY_ALIGN float z[kernels::kMostLabelRows];
  const int64_t query = block.b * a.queries + block.query + i;
  with_type(a.dtype, [&](auto* type) HWY_ATTR {
    map(
        static_cast<size_t>(a.label_rows), z, [](FloatVec v) { return v; },
        static_cast<decltype(type)>(const_cast<void*>(a.labelled)) +
            (query * a.heads + block.head) * a.label_rows);
  });
  const RowLabels row = row_labels(a, block, i);
  const hn::RebindToSigned<FloatTag> ints;
  const auto offset = hn::Set(ints, row.offset);
  const auto last = hn::Set(ints, row.last);
  const auto lanes = static_cast<int64_t>(hn::Lanes(ints));
  int64_t c = columns.begin;
  for (; c + lanes <= columns.end; c += lanes) {
    const auto at = hn::Add(hn::LoadU(ints, row.labels + c), offset);
    const auto rows = hn::Min(hn::Max(at, hn::Zero(ints)), last);
    store(hn::Add(load(s + c), hn::GatherIndex(FloatTag(), z, rows)), s + c);
  }
  for (; c < columns.end; ++c) {
    s[c] += z[row.row(c)];
  }
}

// Turns products into logits for the columns of row i, in place.
HWY_INLINE void finish_logits(const kernels::Attention& a, const Block& block, int64_t i,
                              Range columns, float* s) {
  const size_t n = static_cast<size_t>(columns.end - columns.begin);
  const int64_t query = block.query + i;
  if (a.labelled != nullptr) {
    add_labelled(a, block, i, columns, s);
  }
  float* row = s + columns.begin;
  const FloatVec scale = set(a.scale);
  const int64_t key = block.key + columns.begin;
  if (a.bias != nullptr) {
    const float* bias = a.bias + block.b * a.bias_strides.batch + block.head * a.bias_strides.head +
                        query * a.bias_strides.query + key;
    map(
        n, row, [&](FloatVec x, FloatVec y) { return hn::MulAdd(x, scale, y); }, row, bias);
  } else {
    map(
        n, row, [&](FloatVec x) { return hn::Mul(x, scale); }, row);
  }
  if (a.mask != nullptr) {
    const int8_t* mask = a.mask + block.b * a.mask_strides.batch +
                         block.head * a.mask_strides.head + query * a.mask_strides.query + key;
    for (size_t c = 0; c < n; ++c) {
      row[c] = mask[c] != 0 ? row[c] : -kInfinity;
    }
  }
}

// The visible columns of row i of a block.
HWY_INLINE Range row_columns(const kernels::Attention& a, const Block& block, int64_t i) {
  const Range seen = visible_keys(a, block.b, block.query + i);
  const int64_t begin = std::clamp<int64_t>(seen.begin - block.key, 0, block.keys);
  return {begin, std::clamp<int64_t>(seen.end - block.key, begin, block.keys)};
}

// Dropout multipliers of a block, rows `ld` apart.
HWY_INLINE void block_keep_scales(const kernels::Attention& a, const Block& block, float* out) {
  const kernels::AttentionDropoutLayout layout(a.queries, a.keys);
  const int64_t head = (block.b * a.heads + block.head) * layout.head;
  if (a.keys <= kernels::kDropoutGroup) {  // rows are shorter than a group: draw them together
    HWY_ALIGN float flat[kQueryBlock * kernels::kDropoutGroup];
    // kQueryBlock rows of a multiple of 16 fill whole groups, so a block starts on one.
    keep_scales(a.dropout, static_cast<uint64_t>(head + block.query * layout.row),
                static_cast<size_t>(block.queries * layout.row), flat);
    for (int64_t i = 0; i < block.queries; ++i) {
      std::copy_n(flat + i * layout.row, block.keys, out + i * block.ld);
    }
    return;
  }
  for (int64_t i = 0; i < block.queries; ++i) {
    keep_scales(a.dropout, static_cast<uint64_t>(head + (block.query + i) * layout.row + block.key),
                static_cast<size_t>(block.keys), out + i * block.ld);
  }
}

// out[c][r] = in[r][c], widened to f32; rows of out are ld_out apart and padded with zeros.
template <typename T>
HWY_INLINE void transpose_to_float(const T* in, int64_t row, int64_t rows, int64_t columns,
                                   float* out, int64_t ld_out) {
  constexpr int64_t kTile = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
        out[c * ld_out + r] = static_cast<float>(in[r * row + c]);
      }
    }
  }
  for (int64_t c = 0; c < columns; ++c) {
    std::fill(out + c * ld_out + rows, out + (c + 1) * ld_out, 0.0F);
  }
}

// The rows of one head as f32: in place, or widened into `copy`.
struct FloatRows {
  const float* data;
  int64_t row;
};
HWY_INLINE FloatRows float_rows(const float* in, int64_t row, int64_t, int64_t, float*) {
  return {in, row};
}
HWY_INLINE FloatRows float_rows(const bf16* in, int64_t row, int64_t rows, int64_t columns,
                                float* copy) {
  for (int64_t r = 0; r < rows; ++r) {
    map(
        static_cast<size_t>(columns), copy + r * columns, [](FloatVec v) { return v; },
        in + r * row);
  }
  return {copy, columns};
}

// Hands out consecutive pieces of one scratch buffer.
class Pieces {
 public:
  Pieces(Scratch& scratch, int64_t bytes)
      : next_(scratch.get<std::byte>(static_cast<size_t>(bytes))) {}
  template <typename T>
  T* take(int64_t count) {
    T* result = reinterpret_cast<T*>(next_);
    next_ += round_up(count * static_cast<int64_t>(sizeof(T)), 64);
    return result;
  }

 private:
  std::byte* next_;
};

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_ATTENTION_ATTENTION_INL_H_
