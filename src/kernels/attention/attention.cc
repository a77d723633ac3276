#include "kernels/attention/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <type_traits>

#include "base/parallel.h"
#include "kernels/attention/attention_products-inl.h"
#include "kernels/reduction/row_sum-inl.h"

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

// s(j) += q . e_r(j) + c_r(j): a row's relative term, embedding by embedding.
template <typename T>
HWY_INLINE void add_relative_dots(const kernels::Attention& a, const Block& row, Range columns,
                                  const T* q, const T* table, float* s) {
  const float* bias = relative_bias(a, row.head);
  const auto dot = [&](int64_t embedding) HWY_ATTR {
    const float product = reduce(
        static_cast<size_t>(a.head_dim), [](FloatVec x, FloatVec e) { return hn::Mul(x, e); }, q,
        table + embedding * a.head_dim);
    return bias == nullptr ? product : product + bias[embedding];
  };
  relative_runs(a, row, Range{0, 0}, 0, columns,
                [&](Range run, int64_t embedding, int step) HWY_ATTR {
                  const float clamped = step == 0 ? dot(embedding) : 0.0F;
                  for (int64_t j = run.begin; j < run.end; ++j) {
                    s[j] += step == 0 ? clamped : dot(embedding + j - run.begin);
                  }
                });
}

// s(j) = q . k_j for the columns, four keys at a time.
template <typename T>
HWY_INLINE void key_dots(const T* q, const T* k, int64_t row, size_t d, Range columns, float* s) {
  const size_t lanes = hn::Lanes(FloatTag());
  for (int64_t j = columns.begin; j < columns.end; j += kQuad) {
    const T* keys[kQuad];
    for (int64_t c = 0; c < kQuad; ++c) {  // the last one again where there are fewer than four
      keys[c] = k + std::min(j + c, columns.end - 1) * row;
    }
    FloatVec sums[kQuad] = {zero(), zero(), zero(), zero()};
    size_t i = 0;
    for (; i + lanes <= d; i += lanes) {
      const FloatVec left = load(q + i);
      for (int64_t c = 0; c < kQuad; ++c) {
        sums[c] = hn::MulAdd(left, load(keys[c] + i), sums[c]);
      }
    }
    if (i < d) {
      const FloatVec left = load_n(q + i, d - i);
      for (int64_t c = 0; c < kQuad; ++c) {
        sums[c] = hn::MulAdd(left, load_n(keys[c] + i, d - i), sums[c]);
      }
    }
    HWY_ALIGN float dots[kQuad];
    hn::StoreU(sums_of_four(sums), QuadTag(), dots);
    std::copy_n(dots, std::min(kQuad, columns.end - j), s + j);
  }
}

// The keys [chunk * kPastChunk, ...) of a few queries against a long past, where they lie: for each
// query maximum, sum and weighted values of the running softmax, head_dim + 2 floats.
template <typename T>
void few_queries_chunk(const kernels::Attention& a, int64_t b, int64_t head, int64_t chunk,
                       float* parts) {
  thread_local Scratch scratch;
  const HeadData<T> data = head_data<T>(a, nullptr, b, head);
  const auto d = static_cast<size_t>(a.head_dim);
  const Range keys{chunk * kernels::kPastChunk,
                   std::min(a.keys, (chunk + 1) * kernels::kPastChunk)};
  float* s = scratch.get<float>(static_cast<size_t>(keys.end - keys.begin)) - keys.begin;
  for (int64_t i = 0; i < a.queries; ++i, parts += a.head_dim + 2) {
    const Block row{.b = b,
                    .head = head,
                    .query = i,
                    .queries = 1,
                    .key = 0,
                    .keys = a.keys,
                    .begin = 0,
                    .end = a.keys,
                    .ld = a.keys};
    const Range seen = row_columns(a, row, 0);
    const Range columns{std::max(seen.begin, keys.begin), std::min(seen.end, keys.end)};
    const T* q = data.q + i * data.q_row;
    float& top = parts[a.head_dim];
    float& total = parts[a.head_dim + 1];
    top = -kInfinity;
    total = 0.0F;
    if (columns.empty()) {
      continue;
    }
    key_dots(q, data.k, data.k_row, d, columns, s);
    if (a.relative != nullptr) {
      add_relative_dots(a, row, columns, q, data.relative, s);
    }
    finish_logits(a, row, 0, columns, s);
    top = row_max(s, columns);
    if (top == -kInfinity) {
      continue;
    }
    // exponentials() also clears what lies around the columns, here nothing.
    float* first = s + columns.begin;
    const int64_t count = columns.end - columns.begin;
    total = exponentials(first, {0, count}, top, nullptr, count, first);
    sum_rows<T, float>(
        count,
        [&](int64_t j) {
          return WeightedRow<T>{data.v + (columns.begin + j) * data.v_row, first[j]};
        },
        d, parts, false);
  }
}

// Puts the chunks of a head's queries together, in their order; they lie `stride` floats apart.
template <typename T>
void join_chunks(const kernels::Attention& a, int64_t b, int64_t head, int64_t chunks,
                 const float* parts, int64_t stride) {
  thread_local Scratch scratch;
  const auto d = static_cast<size_t>(a.head_dim);
  float* y = scratch.get<float>(d);
  for (int64_t i = 0; i < a.queries; ++i, parts += a.head_dim + 2) {
    RunningSoftmax state;
    std::fill_n(y, d, 0.0F);
    for (int64_t c = 0; c < chunks; ++c) {
      const float* part = parts + c * stride;
      const float top = part[a.head_dim];
      if (top == -kInfinity) {
        continue;
      }
      const float max_now = std::max(state.max, top);
      const float correction = std::exp(state.max - max_now);
      const float weight = std::exp(top - max_now);
      map(
          d, y,
          [&](FloatVec old, FloatVec v) {
            return hn::MulAdd(set(weight), v, hn::Mul(set(correction), old));
          },
          y, part);
      state.sum = state.sum * correction + part[a.head_dim + 1] * weight;
      state.max = max_now;
    }
    const FloatVec inverse = set(state.sum > 0.0F ? 1.0F / state.sum : 0.0F);
    map(
        d, a.y.at<T>(b, head, a.head_dim) + i * a.y.row,
        [&](FloatVec v) { return hn::Mul(v, inverse); }, y);
  }
}

// Every `parts`-th block of a head's queries, from `part` on.
template <typename T, typename Products>
void forward_part(const kernels::Attention& a, const kernels::AttentionPart& at) {
  Products products(a, head_data<T>(a, nullptr, at.b, at.head));
  const Workspace work(a.head_dim);
  for (int64_t query = at.part * kQueryBlock; query < a.queries; query += at.parts * kQueryBlock) {
    forward_queries<T>(a, at.b, at.head, query, products, work);
  }
}

void attention_part(const kernels::Attention& a, const kernels::AttentionPart& at) {
  with_type(a.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_same_v<T, bf16>) {
      if (panels::native()) {
        forward_part<bf16, PanelProducts>(a, at);
        return;
      }
    }
    forward_part<T, FloatProducts<T>>(a, at);
  });
}

void attention_past(const kernels::Attention& a, const kernels::AttentionPart& at, float* parts) {
  with_type(a.dtype, [&](auto* type) {
    few_queries_chunk<std::remove_pointer_t<decltype(type)>>(a, at.b, at.head, at.part, parts);
  });
}

void attention_join(const kernels::Attention& a, const kernels::AttentionPart& at,
                    const float* parts, int64_t stride) {
  with_type(a.dtype, [&](auto* type) {
    join_chunks<std::remove_pointer_t<decltype(type)>>(a, at.b, at.head, at.parts, parts, stride);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(attention_part);
HWY_EXPORT(attention_past);
HWY_EXPORT(attention_join);

namespace kernels {
namespace {

// A few queries against a past: each head's past in chunks of fixed length, so that a row's bits
// depend neither on the others nor on the threads; long pasts use all threads.
void few_queries(const Attention& a) {
  thread_local Scratch scratch;
  const int64_t chunks = std::max<int64_t>(1, (a.keys + kPastChunk - 1) / kPastChunk);
  const int64_t stride = a.queries * (a.head_dim + 2);
  float* parts = scratch.get<float>(static_cast<size_t>(a.batch * a.heads * chunks * stride));
  const auto chunk = [&](int64_t row, int64_t c) {
    HWY_DYNAMIC_DISPATCH(attention_past)
    (a, {row / a.heads, row % a.heads, c, chunks}, parts + (row * chunks + c) * stride);
  };
  const auto join = [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(attention_join)
    (a, {row / a.heads, row % a.heads, 0, chunks}, parts + row * chunks * stride, stride);
  };
  if (chunks > 1 && a.batch * a.heads < 2 * num_threads()) {
    parallel_tasks(a.batch * a.heads * chunks,
                   [&](int64_t task) { chunk(task / chunks, task % chunks); });
    parallel_tasks(a.batch * a.heads, join);
    return;
  }
  parallel_tasks(a.batch * a.heads, [&](int64_t row) {
    for (int64_t c = 0; c < chunks; ++c) {
      chunk(row, c);
    }
    join(row);
  });
}

}  // namespace

void attention(const Attention& args) {
  constexpr int64_t kFewQueries = 4;
  constexpr int64_t kQueryBlock = 64;
  if ((args.queries <= kFewQueries || args.stepwise) && !args.whole_sequence &&
      args.lse == nullptr && args.weights == nullptr && !args.dropout.active()) {
    few_queries(args);
    return;
  }
  // Few heads are cut into parts, so that each thread gets some. A block's result does not depend
  // on it.
  const int64_t heads = args.batch * args.heads;
  const int64_t blocks = (args.queries + kQueryBlock - 1) / kQueryBlock;
  const int64_t wanted = 2 * num_threads();
  const int64_t parts =
      heads >= wanted || num_threads() == 1
          ? 1
          : std::clamp<int64_t>((wanted + heads - 1) / std::max<int64_t>(heads, 1), 1,
                                std::max<int64_t>(blocks, 1));
  parallel_tasks(heads * parts, [&](int64_t task) {
    const int64_t head = task / parts;
    HWY_DYNAMIC_DISPATCH(attention_part)
    (args, {head / args.heads, head % args.heads, task % parts, parts});
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
