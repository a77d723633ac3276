#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <type_traits>

#include "base/parallel.h"
#include "kernels/attention_products-inl.h"
#include "kernels/cpu.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// The running softmax of one row (Milakov and Gimelshein 2018): maximum and sum so far.
struct RunningSoftmax {
  float max = -kInfinity;
  float sum = 0.0F;
};

HWY_INLINE float row_max(const float* s, Range columns) {
  const size_t n = static_cast<size_t>(columns.end - columns.begin);
  const size_t lanes = hn::Lanes(FloatTag());
  const float* row = s + columns.begin;
  FloatVec best = set(-kInfinity);
  size_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    best = hn::Max(best, load(row + c));
  }
  float result = max(best);
  for (; c < n; ++c) {
    result = std::max(result, row[c]);
  }
  return result;
}

// p = exp(s - shift) * keep over the columns and zero elsewhere in [0, width); returns the sum of
// exp(s - shift).
template <typename Weight>
HWY_INLINE float exponentials(const float* s, Range columns, float shift, const float* keep,
                              int64_t width, Weight* p) {
  const size_t lanes = hn::Lanes(FloatTag());
  const size_t n = static_cast<size_t>(columns.end - columns.begin);
  const FloatVec offset = set(shift);
  FloatVec total = zero();
  float tail = 0.0F;
  const float* row = s + columns.begin;
  Weight* out = p + columns.begin;
  const float* kept = keep == nullptr ? nullptr : keep + columns.begin;
  size_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    const FloatVec e = exp(hn::Sub(load(row + c), offset));
    total = hn::Add(total, e);
    store(kept == nullptr ? e : hn::Mul(e, load(kept + c)), out + c);
  }
  if (c < n) {
    const FloatVec e = exp(hn::Sub(load_n(row + c, n - c), offset));
    HWY_ALIGN float values[HWY_MAX_BYTES / sizeof(float)];
    store(e, values);
    for (size_t i = 0; c + i < n; ++i) {
      tail += values[i];
      out[c + i] = Weight(kept == nullptr ? values[i] : values[i] * kept[c + i]);
    }
  }
  std::fill(p, p + columns.begin, Weight(0.0F));
  std::fill(p + columns.end, p + width, Weight(0.0F));
  return sum(total) + tail;
}

// Takes a block's logits into the running softmax of row i and scales what `y` holds so far.
template <typename Weight>
HWY_INLINE void take_row(const kernels::Attention& a, const Block& block, int64_t i, float* s,
                         const float* keep, RunningSoftmax& state, Weight* p, float* y) {
  const Range columns = row_columns(a, block, i);
  const float block_max = columns.empty() ? -kInfinity : row_max(s, columns);
  if (block_max == -kInfinity) {  // nothing visible here
    std::fill_n(p, block.ld, Weight(0.0F));
    return;
  }
  const float max_now = std::max(state.max, block_max);
  const float correction = std::exp(state.max - max_now);
  state.sum = state.sum * correction + exponentials(s, columns, max_now, keep, block.ld, p);
  if (state.max != max_now && state.max != -kInfinity) {
    const FloatVec factor = set(correction);
    map(
        static_cast<size_t>(a.head_dim), y, [&](FloatVec v) { return hn::Mul(v, factor); }, y);
  }
  state.max = max_now;
}

struct Workspace {
  float* logits;    // [kQueryBlock, ld]
  float* embedded;  // [kQueryBlock, ld + kQueryBlock + 2 panels]
  float* keep;      // [kQueryBlock, ld]
  bf16* weights;    // [kQueryBlock, ld]
  float* y;         // [kQueryBlock, head_dim]

  explicit Workspace(int64_t head_dim) {
    thread_local Scratch scratch;
    constexpr int64_t kBlock = kQueryBlock * kMostKeyBlock;
    constexpr int64_t kWide = kQueryBlock * (kMostKeyBlock + kQueryBlock + 2 * kPanelWidth);
    Pieces pieces(scratch, 4 * (2 * kBlock + kWide + kQueryBlock * head_dim) + 2 * kBlock + 1024);
    logits = pieces.take<float>(kBlock);
    embedded = pieces.take<float>(kWide);
    keep = pieces.take<float>(kBlock);
    weights = pieces.take<bf16>(kBlock);
    y = pieces.take<float>(kQueryBlock * head_dim);
  }
};

// Logits of a block, relative term, bias and mask included.
template <typename Products>
HWY_INLINE void block_logits(const kernels::Attention& a, const Block& block, Products& products,
                             const Workspace& work) {
  products.logits(block, work.logits);
  Range range{};
  const int64_t ld = kMostKeyBlock + kQueryBlock + 2 * kPanelWidth;
  if (a.relative != nullptr) {
    range = relative_range(a, block);
    products.embedded(block, range, work.embedded, ld);
  }
  for (int64_t i = 0; i < block.queries; ++i) {
    float* s = work.logits + i * block.ld;
    const Range columns = row_columns(a, block, i);
    if (a.relative != nullptr) {
      add_relative(a, block, range, i, columns, work.embedded + i * ld, s);
    }
    finish_logits(a, block, i, columns, s);
  }
}

// weights(i, j) = exp(logit - lse), for pictures: a second pass over the keys.
template <typename Products>
void write_weights(const kernels::Attention& a, int64_t b, int64_t head, int64_t query,
                   Products& products, const Workspace& work, const float* lse) {
  for (int64_t key = 0; key < a.keys; key += key_block_of(a)) {
    const Block block = make_block(a, b, head, query, key);
    if (!block.empty()) {
      block_logits(a, block, products, work);
    }
    for (int64_t i = 0; i < block.queries; ++i) {
      float* out = a.weights + ((b * a.heads + head) * a.queries + query + i) * a.keys + block.key;
      const Range columns = block.empty() ? Range{0, 0} : row_columns(a, block, i);
      exponentials(work.logits + i * block.ld, columns, lse[i], nullptr, block.keys, out);
    }
  }
}

template <typename T, typename Products>
void forward_queries(const kernels::Attention& a, int64_t b, int64_t head, int64_t query,
                     Products& products, const Workspace& work) {
  const int64_t queries = std::min(kQueryBlock, a.queries - query);
  const size_t d = static_cast<size_t>(a.head_dim);
  RunningSoftmax states[kQueryBlock];
  std::fill_n(work.y, queries * a.head_dim, 0.0F);
  auto* p = products.weights_for(work.logits, work.weights);
  for (int64_t key = 0; key < a.keys; key += key_block_of(a)) {
    const Block block = make_block(a, b, head, query, key);
    if (block.empty()) {
      continue;
    }
    block_logits(a, block, products, work);
    if (a.dropout.active()) {
      block_keep_scales(a, block, work.keep);
    }
    for (int64_t i = 0; i < queries; ++i) {
      take_row(a, block, i, work.logits + i * block.ld,
               a.dropout.active() ? work.keep + i * block.ld : nullptr, states[i], p + i * block.ld,
               work.y + i * a.head_dim);
    }
    products.values(block, p, work.y);
  }
  float lse[kQueryBlock];
  for (int64_t i = 0; i < queries; ++i) {
    const bool sees = states[i].sum > 0.0F;
    const FloatVec inverse = set(sees ? 1.0F / states[i].sum : 0.0F);
    T* y = a.y.at<T>(b, head, a.head_dim) + (query + i) * a.y.row;
    map(
        d, y, [&](FloatVec v) { return hn::Mul(v, inverse); }, work.y + i * a.head_dim);
    lse[i] = sees ? states[i].max + std::log(states[i].sum) : kInfinity;
  }
  if (a.lse != nullptr) {
    std::copy_n(lse, queries, a.lse + (b * a.heads + head) * a.queries + query);
  }
  if (a.weights != nullptr) {
    write_weights(a, b, head, query, products, work, lse);
  }
}

// s(j) += q . e_r(j): a row's relative term, embedding by embedding.
template <typename T>
HWY_INLINE void add_relative_dots(const kernels::Attention& a, const Block& row, Range columns,
                                  const T* q, const T* table, float* s) {
  const auto dot = [&](int64_t embedding) HWY_ATTR {
    return reduce(
        static_cast<size_t>(a.head_dim), [](FloatVec x, FloatVec e) { return hn::Mul(x, e); }, q,
        table + embedding * a.head_dim);
  };
  relative_runs(a, row, Range{0, 0}, 0, columns,
                [&](Range run, int64_t embedding, int step) HWY_ATTR {
                  const float clamped = step == 0 ? dot(embedding) : 0.0F;
                  for (int64_t j = run.begin; j < run.end; ++j) {
                    s[j] += step == 0 ? clamped : dot(embedding + j - run.begin);
                  }
                });
}

// A few queries against a long past: dot products with the keys where they lie.
template <typename T>
void few_queries(const kernels::Attention& a, int64_t b, int64_t head) {
  thread_local Scratch scratch;
  const HeadData<T> data = head_data<T>(a, nullptr, b, head);
  const size_t d = static_cast<size_t>(a.head_dim);
  float* s = scratch.get<float>(static_cast<size_t>(a.keys) + d);
  float* y = s + a.keys;
  for (int64_t i = 0; i < a.queries; ++i) {
    const Block row{.b = b,
                    .head = head,
                    .query = i,
                    .queries = 1,
                    .key = 0,
                    .keys = a.keys,
                    .begin = 0,
                    .end = a.keys,
                    .ld = a.keys};
    const Range columns = row_columns(a, row, 0);
    const T* q = data.q + i * data.q_row;
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      s[j] = reduce(
          d, [](FloatVec x, FloatVec k) { return hn::Mul(x, k); }, q, data.k + j * data.k_row);
    }
    if (a.relative != nullptr) {
      add_relative_dots(a, row, columns, q, data.relative, s);
    }
    finish_logits(a, row, 0, columns, s);
    const float top = columns.empty() ? -kInfinity : row_max(s, columns);
    const bool sees = top != -kInfinity;
    const float total = sees ? exponentials(s, columns, top, nullptr, a.keys, s) : 0.0F;
    std::fill_n(y, d, 0.0F);
    for (int64_t j = columns.begin; sees && j < columns.end; ++j) {
      const FloatVec weight = set(s[j] / total);
      map(
          d, y, [&](FloatVec v, FloatVec old) { return hn::MulAdd(weight, v, old); },
          data.v + j * data.v_row, y);
    }
    T* out = a.y.at<T>(b, head, a.head_dim) + i * a.y.row;
    map(
        d, out, [](FloatVec v) { return v; }, y);
  }
}

template <typename T, typename Products>
void forward_head(const kernels::Attention& a, int64_t b, int64_t head) {
  Products products(a, head_data<T>(a, nullptr, b, head));
  const Workspace work(a.head_dim);
  for (int64_t query = 0; query < a.queries; query += kQueryBlock) {
    forward_queries<T>(a, b, head, query, products, work);
  }
}

void attention_head(const kernels::Attention& a, int64_t b, int64_t head) {
  constexpr int64_t kFewQueries = 4;
  const bool few = a.queries <= kFewQueries && !a.whole_sequence && a.lse == nullptr &&
                   a.weights == nullptr && !a.dropout.active();
  with_type(a.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (few) {
      few_queries<T>(a, b, head);
    } else if constexpr (std::is_same_v<T, bf16>) {
      if (panels::native()) {
        forward_head<bf16, PanelProducts>(a, b, head);
      } else {
        forward_head<bf16, FloatProducts<bf16>>(a, b, head);
      }
    } else {
      forward_head<T, FloatProducts<T>>(a, b, head);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(attention_head);

namespace kernels {

void attention(const Attention& args) {
  parallel_tasks(args.batch * args.heads, [&](int64_t task) {
    HWY_DYNAMIC_DISPATCH(attention_head)(args, task / args.heads, task % args.heads);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
