// The backward pass of attention, block by block, from the log-sum-exp of each row that the forward
// pass left. With P = exp(logits - lse), K = dropout multipliers and delta_i = dy_i . y_i:
//
//   dV_j += (P K)^T dY_i
//   dP    = (dY_i V_j^T) K
//   dS    = scale P (dP - delta)
//   dQ_i += dS K_j,  dK_j += dS^T Q_i
//   dZ    = dS skewed back,  dQ_i += dZ E,  dE += dZ^T Q_i       (relative positions)
//   dc   += sum over the rows of dZ                                  (terms of distances)
//   dz(i, l(i, j)) += dS                                             (labels)
//
// Where heads are few, a head's keys are cut into parts by the shape alone; each part has a dQ, a
// dE and a dc of its own, which are added in order at the end.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward.cc"
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

inline constexpr int64_t kWideRow = kMostKeyBlock + kQueryBlock + 2 * kPanelWidth;

struct BackwardWorkspace {
  float* logits;     // [kQueryBlock, ld], then dS
  float* d_weights;  // [kQueryBlock, ld]
  float* keep;       // [kQueryBlock, ld]
  float* embedded;   // [kQueryBlock, kWideRow], then dZ
  bf16* narrow_p;    // P K and dS, dZ for products in bf16
  bf16* narrow_ds;
  bf16* narrow_dz;
  float* dk;  // [key block, head_dim]
  float* dv;
  float* dq;     // [queries, head_dim]; of one part if there are several
  float* delta;  // [queries]
  float* dz;     // [queries, label_rows]

  explicit BackwardWorkspace(const kernels::Attention& a) {
    thread_local Scratch scratch;
    constexpr int64_t kBlock = kQueryBlock * kMostKeyBlock;
    const int64_t floats = 3 * kBlock + kQueryBlock * kWideRow + 2 * kMostKeyBlock * a.head_dim +
                           a.queries * (a.head_dim + 1 + a.label_rows);
    Pieces pieces(scratch, 4 * floats + 2 * (2 * kBlock + kQueryBlock * kWideRow) + 2048);
    logits = pieces.take<float>(kBlock);
    d_weights = pieces.take<float>(kBlock);
    keep = pieces.take<float>(kBlock);
    embedded = pieces.take<float>(kQueryBlock * kWideRow);
    narrow_p = pieces.take<bf16>(kBlock);
    narrow_ds = pieces.take<bf16>(kBlock);
    narrow_dz = pieces.take<bf16>(kQueryBlock * kWideRow);
    dk = pieces.take<float>(kMostKeyBlock * a.head_dim);
    dv = pieces.take<float>(kMostKeyBlock * a.head_dim);
    dq = pieces.take<float>(a.queries * a.head_dim);
    delta = pieces.take<float>(a.queries);
    dz = pieces.take<float>(a.queries * a.label_rows);
  }
};

// P from logits in place, and P K for the product with dY.
template <typename Weight>
HWY_INLINE void weights_row(float* s, Range columns, int64_t ld, float lse, const float* keep,
                            Weight* kept) {
  const size_t n = static_cast<size_t>(columns.end - columns.begin);
  float* row = s + columns.begin;
  const FloatVec shift = set(lse);
  map(
      n, row, [&](FloatVec v) { return exp(hn::Sub(v, shift)); }, row);
  std::fill(s, row, 0.0F);
  std::fill(row + n, s + ld, 0.0F);
  if (keep != nullptr) {
    map(
        n, kept + columns.begin, [](FloatVec p, FloatVec k) { return hn::Mul(p, k); }, row,
        keep + columns.begin);
    std::fill(kept, kept + columns.begin, Weight(0.0F));
    std::fill(kept + columns.end, kept + ld, Weight(0.0F));
  } else if (static_cast<void*>(kept) != static_cast<void*>(s)) {
    map(
        static_cast<size_t>(ld), kept, [](FloatVec p) { return p; }, s);
  }
}

// dS = scale P (dP K - delta), in place of dP.
HWY_INLINE void d_logits_row(const float* p, float* dp, const float* keep, int64_t ld, float delta,
                             float scale) {
  const FloatVec d = set(delta);
  const FloatVec factor = set(scale);
  const size_t n = static_cast<size_t>(ld);
  if (keep != nullptr) {
    map(
        n, dp,
        [&](FloatVec w, FloatVec g, FloatVec k) {
          return hn::Mul(hn::Mul(factor, w), hn::MulSub(g, k, d));
        },
        p, dp, keep);
  } else {
    map(
        n, dp, [&](FloatVec w, FloatVec g) { return hn::Mul(hn::Mul(factor, w), hn::Sub(g, d)); },
        p, dp);
  }
}

// dZ of one row: dS moved to the embeddings its columns took.
HWY_INLINE void skew_back(const kernels::Attention& a, const Block& block, const Range& range,
                          int64_t i, const float* ds, float* dz) {
  std::fill_n(dz, range.end - range.begin, 0.0F);
  relative_runs(a, block, range, i, row_columns(a, block, i),
                [&](Range run, int64_t embedding, int step) HWY_ATTR {
                  for (int64_t c = run.begin; c < run.end; ++c) {
                    dz[embedding + (c - run.begin) * step] += ds[c];
                  }
                });
}

template <typename T, typename Products>
class BackwardHead {
 public:
  using Weight = typename Products::Weight;

  BackwardHead(const kernels::AttentionBackward& args, const kernels::AttentionPart& at,
               const kernels::PartGradients& to)
      : args_(args),
        a_(args.forward),
        at_(at),
        b_(at.b),
        head_(at.head),
        to_(to),
        products_(a_, head_data<T>(a_, &args.dy, at.b, at.head)),
        work_(a_) {
    if (to.dq != nullptr) {
      work_.dq = to.dq;
    }
  }

  void run(bool first_of_group) {
    prepare();
    const int64_t d = a_.head_dim;
    const int64_t kv_head = head_ / (a_.heads / a_.kv_heads);
    const int64_t block = key_block_of(a_);
    for (int64_t key = at_.part * block; key < a_.keys; key += at_.parts * block) {
      std::fill_n(work_.dk, kMostKeyBlock * d, 0.0F);
      std::fill_n(work_.dv, kMostKeyBlock * d, 0.0F);
      const int64_t keys = std::min(key_block_of(a_), a_.keys - key);
      for (int64_t query = 0; query < a_.queries; query += kQueryBlock) {
        const Block block = make_block(a_, b_, head_, query, key);
        if (!block.empty()) {
          run_block(block);
        }
      }
      const Range range{key, key + keys};
      put({args_.dk, kv_head, d, range, work_.dk}, args_.accumulate_k || !first_of_group);
      put({args_.dv, kv_head, d, range, work_.dv}, args_.accumulate_v || !first_of_group);
    }
    if (to_.dq == nullptr) {
      put({args_.dq, head_, d, {0, a_.queries}, work_.dq}, args_.accumulate_q);
    }
    const kernels::HeadRows dz{.data = args_.d_labelled,
                               .row = a_.heads * a_.label_rows,
                               .batch = a_.queries * a_.heads * a_.label_rows};
    put({dz, head_, a_.label_rows, {0, a_.queries}, work_.dz}, args_.accumulate_labelled);
  }

 private:
  void prepare() {
    const int64_t d = a_.head_dim;
    std::fill_n(work_.dq, a_.queries * d, 0.0F);
    std::fill_n(work_.dz, a_.queries * a_.label_rows, 0.0F);
    const T* y = a_.y.at<const T>(b_, head_, d);
    const T* dy = args_.dy.at<const T>(b_, head_, d);
    for (int64_t i = 0; i < a_.queries; ++i) {
      work_.delta[i] = reduce(
          static_cast<size_t>(d), [](FloatVec g, FloatVec v) { return hn::Mul(g, v); },
          dy + i * args_.dy.row, y + i * a_.y.row);
    }
  }

  const float* keep_row(const Block& block, int64_t i) const {
    return a_.dropout.active() ? work_.keep + i * block.ld : nullptr;
  }

  // P in work_.logits, P K where the products want it.
  Weight* weights(const Block& block, const Range& range) {
    products_.logits(block, work_.logits);
    if (a_.relative != nullptr) {
      products_.embedded(block, range, work_.embedded, kWideRow);
    }
    if (a_.dropout.active()) {
      block_keep_scales(a_, block, work_.keep);
    }
    Weight* kept = kept_weights();
    const float* lse = a_.lse + (b_ * a_.heads + head_) * a_.queries + block.query;
    for (int64_t i = 0; i < block.queries; ++i) {
      float* s = work_.logits + i * block.ld;
      const Range columns = row_columns(a_, block, i);
      if (a_.relative != nullptr) {
        add_relative(a_, block, range, i, columns, work_.embedded + i * kWideRow, s);
      }
      finish_logits(a_, block, i, columns, s);
      weights_row(s, columns, block.ld, lse[i], keep_row(block, i), kept + i * block.ld);
    }
    return kept;
  }

  // In f32 P K may stand where P stands unless dropout makes them differ.
  Weight* kept_weights() {
    if constexpr (std::is_same_v<Weight, float>) {
      return a_.dropout.active() ? work_.d_weights : work_.logits;
    } else {
      return work_.narrow_p;
    }
  }

  // The f32 rows in the type of the products.
  const Weight* narrowed(const float* from, bf16* to, int64_t count) const {
    if constexpr (std::is_same_v<Weight, float>) {
      return from;
    } else {
      map(
          static_cast<size_t>(count), to, [](FloatVec v) { return v; }, from);
      return to;
    }
  }

  void run_block(const Block& block) {
    const Range range = a_.relative == nullptr ? Range{0, 0} : relative_range(a_, block);
    products_.d_value(block, weights(block, range), work_.dv);
    products_.d_values(block, work_.d_weights);
    for (int64_t i = 0; i < block.queries; ++i) {
      float* ds = work_.d_weights + i * block.ld;
      // Columns outside the block's range hold nothing yet; their P is zero.
      std::fill(ds, ds + block.begin, 0.0F);
      std::fill(ds + block.end, ds + block.ld, 0.0F);
      d_logits_row(work_.logits + i * block.ld, ds, keep_row(block, i), block.ld,
                   work_.delta[block.query + i], a_.scale);
      if (a_.relative != nullptr) {
        float* dz = work_.embedded + i * kWideRow;
        skew_back(a_, block, range, i, ds, dz);
        if (to_.dc != nullptr) {
          float* dc = to_.dc + range.begin;
          map(
              static_cast<size_t>(range.end - range.begin), dc,
              [](FloatVec x, FloatVec y) { return hn::Add(x, y); }, dc, dz);
        }
      }
      if (a_.labelled != nullptr) {
        label_back(block, i, ds);
      }
    }
    float* dq = work_.dq + block.query * a_.head_dim;
    const Weight* ds = narrowed(work_.d_weights, work_.narrow_ds, block.queries * block.ld);
    products_.d_query(block, ds, dq);
    products_.d_key(block, ds, work_.dk);
    if (a_.relative != nullptr) {
      const Weight* dz = narrowed(work_.embedded, work_.narrow_dz, block.queries * kWideRow);
      products_.d_query_relative(block, range, dz, kWideRow, dq);
      if (to_.de != nullptr) {
        products_.d_relative(block, range, dz, kWideRow, to_.de);
      }
    }
  }

  void label_back(const Block& block, int64_t i, const float* ds) {
    float* dz = work_.dz + (block.query + i) * a_.label_rows;
    const RowLabels row = row_labels(a_, block, i);
    const Range columns = row_columns(a_, block, i);
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      dz[row.row(c)] += ds[c];
    }
  }

  // Gradients of some positions of one head, `width` values each.
  struct Gradients {
    const kernels::HeadRows& to;
    int64_t head, width;
    Range positions;
    const float* from;
  };
  void put(const Gradients& part, bool accumulate) const {
    if (part.to.data == nullptr) {
      return;
    }
    const size_t n = static_cast<size_t>(part.width);
    const float* from = part.from;
    for (int64_t i = part.positions.begin; i < part.positions.end; ++i, from += part.width) {
      T* to = part.to.template at<T>(b_, part.head, part.width) + i * part.to.row;
      if (accumulate) {
        map(
            n, to, [](FloatVec v, FloatVec old) { return hn::Add(v, old); }, from, to);
      } else {
        map(
            n, to, [](FloatVec v) { return v; }, from);
      }
    }
  }

  const kernels::AttentionBackward& args_;
  const kernels::Attention& a_;
  kernels::AttentionPart at_;
  int64_t b_;
  int64_t head_;
  kernels::PartGradients to_;
  Products products_;
  BackwardWorkspace work_;
};

void attention_backward_part(const kernels::AttentionBackward& args,
                             const kernels::AttentionPart& at, const kernels::PartGradients& to) {
  const bool first = at.head % (args.forward.heads / args.forward.kv_heads) == 0;
  with_type(args.forward.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_same_v<T, bf16>) {
      if (panels::native()) {
        BackwardHead<bf16, PanelProducts>(args, at, to).run(first);
        return;
      }
    }
    BackwardHead<T, FloatProducts<T>>(args, at, to).run(first);
  });
}

// dq of one head (+)= the sum of its parts, which lie `stride` floats apart.
void attention_backward_join(const kernels::AttentionBackward& args,
                             const kernels::AttentionPart& at, const float* parts, int64_t stride) {
  const int64_t d = args.forward.head_dim;
  with_type(args.forward.dtype, [&](auto* type) {
    auto* dq = args.dq.at<std::remove_pointer_t<decltype(type)>>(at.b, at.head, d);
    for (int64_t i = 0; i < args.forward.queries; ++i) {
      sum_rows<float>(
          at.parts, [&](int64_t p) { return WeightedRow<float>{parts + p * stride + i * d}; },
          static_cast<size_t>(d), dq + i * args.dq.row, args.accumulate_q);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/copy.h"

namespace heed {
HWY_EXPORT(attention_backward_part);
HWY_EXPORT(attention_backward_join);

namespace kernels {
namespace {

// How many parts the keys of a head are cut into: a matter of the shape alone. Labels' gradients
// are not cut.
int64_t parts_of(const Attention& a, int64_t tasks) {
  constexpr int64_t kTasks = 8;
  constexpr int64_t kPartKeys = 512;
  if (a.labelled != nullptr || tasks >= kTasks) {
    return 1;
  }
  return std::clamp<int64_t>(kTasks / std::max<int64_t>(tasks, 1), 1,
                             std::max<int64_t>(a.keys / kPartKeys, 1));
}

// One backward pass: its parts, and where they leave what has to be added up.
class BackwardPass {
 public:
  explicit BackwardPass(const AttentionBackward& args)
      : args_(args),
        a_(args.forward),
        group_(a_.heads / a_.kv_heads),
        by_sequence_(a_.relative == nullptr),
        parts_(parts_of(a_, by_sequence_ ? a_.batch * a_.kv_heads : a_.kv_heads)),
        head_dq_(a_.queries * a_.head_dim),
        table_(a_.relative_rows * a_.head_dim) {}

  void run() {
    thread_local Scratch dq_scratch;
    thread_local Scratch de_scratch;
    thread_local Scratch dc_scratch;
    if (parts_ > 1) {
      dq_ = dq_scratch.get<float>(static_cast<size_t>(a_.batch * a_.heads * parts_ * head_dq_));
    }
    if (args_.d_relative != nullptr) {
      const int64_t count = a_.heads * parts_ * table_;
      de_ = de_scratch.get<float>(static_cast<size_t>(count));
    }
    if (args_.d_relative_bias != nullptr) {
      dc_ = dc_scratch.get<float>(static_cast<size_t>(a_.heads * parts_ * a_.relative_rows));
    }
    // Sequences share the embeddings' gradient, so that a head's sequences run one after the other.
    const int64_t sequences = by_sequence_ ? a_.batch : 1;
    parallel_tasks(sequences * a_.kv_heads * parts_, [&](int64_t task) {
      const int64_t kv_head = task / parts_ % a_.kv_heads;
      const int64_t b = task / parts_ / a_.kv_heads;
      for (int64_t i = 0; i < group_; ++i) {
        run_head(by_sequence_ ? b : 0, by_sequence_ ? b + 1 : a_.batch, kv_head * group_ + i,
                 task % parts_);
      }
    });
    join();
  }

 private:
  float* dq_of(int64_t b, int64_t head, int64_t part) const {
    return dq_ == nullptr ? nullptr : dq_ + ((b * a_.heads + head) * parts_ + part) * head_dq_;
  }

  void run_head(int64_t first, int64_t last, int64_t head, int64_t part) const {
    float* de = nullptr;
    if (de_ != nullptr) {
      de = de_ + (head * parts_ + part) * table_;
      std::fill_n(de, table_, 0.0F);
    }
    float* dc = nullptr;
    if (dc_ != nullptr) {
      dc = dc_ + (head * parts_ + part) * a_.relative_rows;
      std::fill_n(dc, a_.relative_rows, 0.0F);
    }
    for (int64_t b = first; b < last; ++b) {
      HWY_DYNAMIC_DISPATCH(attention_backward_part)
      (args_, {b, head, part, parts_}, {.dq = dq_of(b, head, part), .de = de, .dc = dc});
    }
  }

  void join() const {
    if (dq_ != nullptr && args_.dq.data != nullptr) {
      parallel_tasks(a_.batch * a_.heads, [&](int64_t task) {
        const int64_t b = task / a_.heads;
        const int64_t head = task % a_.heads;
        HWY_DYNAMIC_DISPATCH(attention_backward_join)
        (args_, {b, head, 0, parts_}, dq_of(b, head, 0), head_dq_);
      });
    }
    if (de_ != nullptr) {
      const int64_t tables = a_.relative_shared ? 1 : a_.heads;
      parallel_tasks(tables, [&](int64_t table) { join_tables(table, a_.heads / tables); });
    }
    if (dc_ != nullptr) {
      join_terms();
    }
  }

  // The gradient of the terms of the distances, from the parts of each head.
  void join_terms() const {
    const int64_t rows = a_.relative_rows;
    for (int64_t task = 0; task < a_.heads * parts_; ++task) {
      copy({.n = rows,
            .from = {dc_ + task * rows, DType::f32},
            .to = {args_.d_relative_bias + task / parts_ * rows, DType::f32},
            .accumulate = args_.accumulate_relative_bias || task % parts_ > 0});
    }
  }

  // The gradient of table `table`, from the parts of `heads` heads, in their order.
  void join_tables(int64_t table, int64_t heads) const {
    float* sum = de_ + table * parts_ * table_;
    for (int64_t i = 1; i < heads * parts_; ++i) {
      copy({.n = table_,
            .from = {sum + i * table_, DType::f32},
            .to = {sum, DType::f32},
            .accumulate = true});
    }
    copy({.n = table_,
          .from = {sum, DType::f32},
          .to = {static_cast<std::byte*>(args_.d_relative) +
                     static_cast<size_t>(table * table_) * size_of(args_.d_relative_dtype),
                 args_.d_relative_dtype},
          .accumulate = args_.accumulate_relative});
  }

  const AttentionBackward& args_;
  const Attention& a_;
  const int64_t group_;
  const bool by_sequence_;
  const int64_t parts_;
  const int64_t head_dq_;  // floats of one head's dq
  const int64_t table_;    // and of one table of embeddings
  float* dq_ = nullptr;    // [batch, heads, parts, queries, head_dim]
  float* de_ = nullptr;    // [heads, parts, relative_rows, head_dim]
  float* dc_ = nullptr;    // [heads, parts, relative_rows]
};

}  // namespace

void attention_backward(const AttentionBackward& args) { BackwardPass(args).run(); }

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
