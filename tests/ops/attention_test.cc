#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/attention/attention.h"
#include "kernels/cpu.h"
#include "kernels/reference/attention.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

struct Scenario {
  std::string name;
  int64_t batch = 2, heads = 2, kv_heads = 2, queries = 5, keys = 5, dim = 4;
  bool causal = false;
  std::vector<int32_t> lengths = {};
  std::vector<int32_t> positions = {};  // of each sequence's first query
  bool mask = false;
  bool bias = false;
  int64_t left = -1, right = -1;
  int64_t relative_rows = 0, center = -1;
  bool shared = false;
  bool terms = false;  // of the distances alone
  int64_t label_rows = 0;
  float dropout = 0.0F;
  int64_t stride = 1;
  enum { apart, qkv, kv } packed = apart;
};

// A mask that leaves each query at least its own position, if there is one.
bool mask_at(int64_t i, int64_t j) { return (i * 7 + j * 3) % 4 != 0 || i == j; }
double bias_at(int64_t h, int64_t i, int64_t j) {
  return 0.1 * static_cast<double>((h + i * 3 + j) % 5);
}

// Steps like a melody's, and now and then something that is far from all others.
int32_t label_at(int64_t b, int64_t j) {
  return (j + b) % 7 == 6 ? -(1 << 20) : static_cast<int32_t>((j * j + 3 * b) % 11);
}

AttentionOptions options_of(const Scenario& s) {
  AttentionOptions o{.causal = s.causal,
                     .positions = {},
                     .lengths = {},
                     .mask = {},
                     .bias = {},
                     .window_left = s.left,
                     .window_right = s.right,
                     .key_stride = s.stride,
                     .relative = {},
                     .relative_center = s.center,
                     .labelled = {},
                     .labels = {},
                     .dropout = s.dropout};
  if (s.label_rows > 0) {
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < s.batch * s.keys; ++i) {
      labels.push_back(label_at(i / s.keys, i % s.keys));
    }
    o.labels = Tensor::from_ints(labels, {s.batch, s.keys});
  }
  if (!s.lengths.empty()) {
    o.lengths = Tensor::from_ints(s.lengths, {s.batch});
  }
  if (!s.positions.empty()) {
    o.positions = Tensor::from_ints(s.positions, {s.batch});
  }
  if (s.mask) {
    std::vector<int8_t> mask;
    for (int64_t i = 0; i < s.queries * s.keys; ++i) {
      mask.push_back(mask_at(i / s.keys, i % s.keys) ? 1 : 0);
    }
    o.mask = Tensor::from_bytes(mask, {s.queries, s.keys});
  }
  if (s.bias) {
    std::vector<float> bias;
    for (int64_t i = 0; i < s.heads * s.queries * s.keys; ++i) {
      bias.push_back(static_cast<float>(
          bias_at(i / (s.queries * s.keys), i / s.keys % s.queries, i % s.keys)));
    }
    o.bias = Tensor::from(bias, {1, s.heads, s.queries, s.keys});
  }
  return o;
}

reference::Attention reference_of(const Scenario& s) {
  reference::Attention a{.batch = s.batch,
                         .heads = s.heads,
                         .kv_heads = s.kv_heads,
                         .queries = s.queries,
                         .keys = s.keys,
                         .dim = s.dim,
                         .scale = 1.0 / std::sqrt(static_cast<double>(s.dim)),
                         .relative_rows = s.relative_rows,
                         .relative_center = s.center < 0 ? s.relative_rows - 1 : s.center,
                         .relative_shared = s.shared,
                         .label_rows = s.label_rows,
                         .label = label_at,
                         .visible = {}};
  a.visible = [s](int64_t b, int64_t, int64_t i, int64_t j) {
    const int64_t p = i + (s.positions.empty() ? s.keys - s.queries : s.positions[b]);
    return (!s.causal || j <= p) && (s.left < 0 || j >= p - s.left) &&
           (s.right < 0 || j <= p + s.right) && (s.lengths.empty() || j < s.lengths[b]) &&
           (!s.mask || mask_at(i, j)) && j % s.stride == s.stride - 1 &&
           (s.lengths.empty() || j < s.lengths[b] / s.stride * s.stride);
  };
  if (s.bias) {
    a.bias = [](int64_t, int64_t h, int64_t i, int64_t j) { return bias_at(h, i, j); };
  }
  if (s.dropout > 0.0F) {
    a.keep = [s](int64_t b, int64_t h, int64_t i, int64_t j) {
      const kernels::Dropout dropout{s.dropout, {kCaseSeed, 0}};
      const kernels::AttentionDropoutLayout layout(s.queries, s.keys / s.stride);
      const bool keeps = dropout.keeps(
          static_cast<uint64_t>((b * s.heads + h) * layout.head + i * layout.row + j / s.stride));
      return keeps ? 1.0 / (1.0 - double{s.dropout}) : 0.0;
    };
  }
  return a;
}

// Part `part` of `parts` that share each row.
std::vector<double> part_of(const std::vector<double>& all, int64_t width, int64_t parts,
                            int64_t part) {
  std::vector<double> result;
  for (size_t at = static_cast<size_t>(part * width); at < all.size();
       at += static_cast<size_t>(parts * width)) {
    result.insert(result.end(), all.begin() + static_cast<int64_t>(at),
                  all.begin() + static_cast<int64_t>(at) + width);
  }
  return result;
}

std::vector<Input> inputs_of(const Scenario& s) {
  const Shape q{s.batch, s.queries, s.heads, s.dim};
  const Shape k{s.batch, s.keys, s.kv_heads, s.dim};
  std::vector<Input> inputs;
  if (s.packed == Scenario::qkv) {
    inputs = {{.shape = {s.batch, s.keys, 3, s.heads, s.dim}}};
  } else if (s.packed == Scenario::kv) {
    inputs = {{.shape = q}, {.shape = {s.batch, s.keys, 2, s.heads, s.dim}}};
  } else {
    inputs = {{.shape = q}, {.shape = k}, {.shape = k}};
  }
  if (s.relative_rows > 0) {
    inputs.push_back({.shape = s.shared ? Shape{s.relative_rows, s.dim}
                                        : Shape{s.heads, s.relative_rows, s.dim}});
  }
  if (s.terms) {
    inputs.push_back({.shape = {s.heads, s.relative_rows}, .kind = Kind::parameter});
  }
  if (s.label_rows > 0) {
    inputs.push_back({.shape = {s.batch, s.queries, s.heads, s.label_rows}});
  }
  return inputs;
}

// The inputs behind queries, keys and values, from the last one on.
template <typename T>
struct Extras {
  const T* labelled = nullptr;
  const T* terms = nullptr;
  const T* relative = nullptr;

  Extras(const Scenario& s, const std::vector<T>& inputs) {
    const T* last = &inputs.back();
    labelled = s.label_rows > 0 ? last-- : nullptr;
    terms = s.terms ? last-- : nullptr;
    relative = s.relative_rows > 0 ? last : nullptr;
  }
};

Tensor run_setup(const Scenario& s, const std::vector<Tensor>& t) {
  AttentionOptions o = options_of(s);
  const Extras extras(s, t);
  o.relative = extras.relative == nullptr ? Tensor() : *extras.relative;
  o.relative_bias = extras.terms == nullptr ? Tensor() : *extras.terms;
  o.labelled = extras.labelled == nullptr ? Tensor() : *extras.labelled;
  switch (s.packed) {
    case Scenario::qkv:
      return attention_qkv(t[0], o).y;
    case Scenario::kv:
      return attention_kv(t[0], t[1], o).y;
    default:
      return attention(t[0], t[1], t[2], o).y;
  }
}

std::vector<Array> run_reference(const Scenario& s, const std::vector<Array>& a) {
  const int64_t width = s.heads * s.dim;
  const Extras extras(s, a);
  const auto values = [](const Array* array) {
    return array == nullptr ? std::vector<double>() : array->values;
  };
  const std::vector<double> e = values(extras.relative);
  const std::vector<double> c = values(extras.terms);
  const std::vector<double> z = values(extras.labelled);
  std::vector<double> q = a[0].values;
  std::vector<double> k;
  std::vector<double> v;
  if (s.packed == Scenario::qkv) {
    q = part_of(a[0].values, width, 3, 0);
    k = part_of(a[0].values, width, 3, 1);
    v = part_of(a[0].values, width, 3, 2);
  } else if (s.packed == Scenario::kv) {
    k = part_of(a[1].values, width, 2, 0);
    v = part_of(a[1].values, width, 2, 1);
  } else {
    k = a[1].values;
    v = a[2].values;
  }
  return {{{s.batch, s.queries, s.heads, s.dim},
           reference::attention<double>(reference_of(s), q, k, v, e, z, c).y}};
}

OpCase attention_case(const Scenario& s) {
  return {.op = "attention",
          .name = s.name,
          .inputs = inputs_of(s),
          .run = [s](const std::vector<Tensor>& t) { return std::vector<Tensor>{run_setup(s, t)}; },
          .reference = [s](const std::vector<Array>& a) { return run_reference(s, a); },
          .bf16_tolerance = 0.05};
}

const bool kRegistered = add_cases({
    attention_case({.name = "plain"}),
    attention_case({.name = "cross", .queries = 3, .keys = 7}),
    attention_case({.name = "causal", .causal = true}),
    attention_case({.name = "causal_past", .queries = 3, .keys = 6, .causal = true}),
    attention_case({.name = "causal_blind", .queries = 6, .keys = 4, .causal = true}),
    attention_case({.name = "lengths", .lengths = {3, 0}}),
    attention_case({.name = "positions",
                    .queries = 3,
                    .keys = 8,
                    .causal = true,
                    .lengths = {8, 5},
                    .positions = {5, 2}}),
    attention_case({.name = "mask", .mask = true}),
    attention_case({.name = "bias", .causal = true, .bias = true}),
    attention_case({.name = "window", .queries = 9, .keys = 9, .left = 2, .right = 1}),
    attention_case({.name = "grouped", .heads = 4, .kv_heads = 2}),
    attention_case({.name = "qkv", .causal = true, .packed = Scenario::qkv}),
    attention_case({.name = "kv", .queries = 3, .packed = Scenario::kv}),
    attention_case({.name = "dropout", .causal = true, .dropout = 0.3F}),
    attention_case({.name = "relative", .causal = true, .relative_rows = 5}),
    attention_case({.name = "relative_clipped", .causal = true, .relative_rows = 3}),
    attention_case({.name = "relative_both_ways", .relative_rows = 5, .center = 2, .shared = true}),
    attention_case({.name = "relative_qkv",
                    .causal = true,
                    .lengths = {5, 4},
                    .relative_rows = 7,
                    .dropout = 0.2F,
                    .packed = Scenario::qkv}),
    attention_case({.name = "relative_terms",
                    .queries = 3,
                    .keys = 8,
                    .causal = true,
                    .relative_rows = 8,
                    .terms = true}),
    attention_case({.name = "relative_terms_clipped",
                    .heads = 4,
                    .causal = true,
                    .left = 3,
                    .relative_rows = 3,
                    .shared = true,
                    .terms = true,
                    .label_rows = 5,
                    .dropout = 0.2F}),
    attention_case({.name = "labels", .label_rows = 9}),
    attention_case({.name = "labels_relative",
                    .causal = true,
                    .lengths = {5, 4},
                    .relative_rows = 5,
                    .label_rows = 21,
                    .dropout = 0.2F,
                    .packed = Scenario::qkv}),
    attention_case({.name = "stride", .queries = 8, .keys = 8, .causal = true, .stride = 3}),
    attention_case({.name = "stride_past",
                    .queries = 2,
                    .keys = 9,
                    .causal = true,
                    .lengths = {9, 5},
                    .dropout = 0.2F,
                    .stride = 2}),
    attention_case({.name = "odd_dim", .batch = 1, .queries = 4, .keys = 4, .dim = 19}),
});

// Sizes that cross blocks of queries and keys, where a numerical gradient would take too long: the
// kernels at every instruction set against the reference, and their gradients against those of
// the smallest instruction set in f32, which the cases above have checked.

class LongAttention : public ::testing::TestWithParam<Scenario> {
 protected:
  const Isa before_ = max_isa();
  void TearDown() override { set_max_isa(before_); }

  struct Result {
    Array y;
    std::vector<Array> gradients;
  };
  Result compute(DType dtype) const {
    const OpCase op_case = attention_case(GetParam());
    std::vector<Tensor> inputs = make_inputs(op_case, dtype);
    Tape tape(kCaseSeed);
    const TapeScope scope(tape);
    for (Tensor& input : inputs) {
      tape.watch(input);
    }
    const Tensor y = op_case.run(inputs)[0];
    Result result{to_array(y), {}};
    const OpCase same{.op = "attention",
                      .name = "dy",
                      .inputs = {{.shape = y.shape()}},
                      .run = {},
                      .reference = {}};
    tape.backward(y, make_inputs(same, dtype)[0]);
    for (const Tensor& input : inputs) {
      result.gradients.push_back(to_array(input.slot()->grad));
    }
    return result;
  }
};

TEST_P(LongAttention, EveryInstructionSet) {
  const OpCase op_case = attention_case(GetParam());
  std::vector<Array> arrays;
  for (const Tensor& input : make_inputs(op_case, DType::bf16)) {
    arrays.push_back(to_array(input));
  }
  set_max_isa(Isa::sse4);
  const Result base = compute(DType::f32);
  for (const Isa isa : usable_isas()) {
    set_max_isa(isa);
    const Result f32 = compute(DType::f32);
    const Result narrow = compute(DType::bf16);
    EXPECT_LE(error_between(narrow.y, op_case.reference(arrays)[0]), 0.04) << name_of(isa);
    EXPECT_LE(error_between(f32.y, base.y), 1e-4) << name_of(isa);
    for (size_t i = 0; i < base.gradients.size(); ++i) {
      EXPECT_LE(error_between(f32.gradients[i], base.gradients[i]), 2e-4) << name_of(isa) << i;
      EXPECT_LE(error_between(narrow.gradients[i], base.gradients[i]), 0.08) << name_of(isa) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, LongAttention,
                         ::testing::Values(Scenario{.name = "causal",
                                                    .batch = 1,
                                                    .heads = 2,
                                                    .queries = 300,
                                                    .keys = 300,
                                                    .dim = 32,
                                                    .causal = true},
                                           Scenario{.name = "cross",
                                                    .batch = 2,
                                                    .heads = 1,
                                                    .kv_heads = 1,
                                                    .queries = 70,
                                                    .keys = 600,
                                                    .dim = 20,
                                                    .lengths = {600, 130}},
                                           Scenario{.name = "window",
                                                    .batch = 1,
                                                    .heads = 1,
                                                    .kv_heads = 1,
                                                    .queries = 700,
                                                    .keys = 700,
                                                    .dim = 16,
                                                    .causal = true,
                                                    .left = 100},
                                           Scenario{.name = "dropout",
                                                    .batch = 1,
                                                    .heads = 2,
                                                    .queries = 150,
                                                    .keys = 290,
                                                    .dim = 16,
                                                    .dropout = 0.2F},
                                           Scenario{.name = "relative",
                                                    .batch = 2,
                                                    .heads = 2,
                                                    .queries = 330,
                                                    .keys = 330,
                                                    .dim = 32,
                                                    .causal = true,
                                                    .relative_rows = 330},
                                           Scenario{.name = "relative_clipped",
                                                    .batch = 1,
                                                    .heads = 2,
                                                    .queries = 300,
                                                    .keys = 300,
                                                    .dim = 24,
                                                    .relative_rows = 129,
                                                    .center = 64},
                                           Scenario{.name = "labels",
                                                    .batch = 2,
                                                    .heads = 2,
                                                    .queries = 330,
                                                    .keys = 330,
                                                    .dim = 32,
                                                    .causal = true,
                                                    .label_rows = 15}),
                         [](const auto& info) { return info.param.name; });

// A segment behind a long memory, as the Transformer-XL has it.
INSTANTIATE_TEST_SUITE_P(Segments, LongAttention,
                         ::testing::Values(Scenario{.name = "relative_terms",
                                                    .batch = 2,
                                                    .heads = 2,
                                                    .queries = 140,
                                                    .keys = 700,
                                                    .dim = 40,
                                                    .causal = true,
                                                    .relative_rows = 700,
                                                    .terms = true}),
                         [](const auto& info) { return info.param.name; });

// Decoding: a query or a few against a long past, at which other products are used.
TEST(Attention, FewQueriesWithRelativePositions) {
  for (const auto& [queries, keys] : {std::pair(1, 300), std::pair(3, 300), std::pair(2, 2500)}) {
    for (const bool shared : {false, true}) {
      const OpCase op_case = attention_case({.name = "few",
                                             .queries = queries,
                                             .keys = keys,
                                             .dim = 24,
                                             .causal = true,
                                             .left = shared ? 150 : -1,
                                             .relative_rows = 129,
                                             .shared = shared,
                                             .terms = shared,
                                             .label_rows = shared ? 13 : 0});
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const std::vector<Tensor> inputs = make_inputs(op_case, dtype);
        std::vector<Array> arrays;
        for (const Tensor& input : inputs) {
          arrays.push_back(to_array(input));
        }
        EXPECT_LE(error_between(to_array(op_case.run(inputs)[0]), op_case.reference(arrays)[0]),
                  dtype == DType::f32 ? 1e-5 : 0.02)
            << queries << " queries, " << keys << " keys, shared " << shared << ", "
            << name_of(dtype);
      }
    }
  }
}

TEST(Attention, WeightsSumToOneAndAgree) {
  const Scenario s{.name = "weights", .queries = 70, .keys = 300, .causal = true};
  const OpCase op_case = attention_case(s);
  const std::vector<Tensor> t = make_inputs(op_case, DType::f32);
  AttentionOptions o = options_of(s);
  o.weights = true;
  const AttentionResult result = attention(t[0], t[1], t[2], o);
  const auto expected = reference::attention<double>(
      reference_of(s), to_array(t[0]).values, to_array(t[1]).values, to_array(t[2]).values, {});
  EXPECT_LE(
      error_between(to_array(result.weights), Array{result.weights.shape(), expected.weights}),
      1e-5);
}

TEST(Attention, FewQueriesAgreeWithMany) {
  const Scenario s{.name = "few", .queries = 6, .keys = 6, .causal = true};
  const OpCase op_case = attention_case(s);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::vector<Tensor> t = make_inputs(op_case, dtype);
    const Array all = to_array(attention(t[0], t[1], t[2], {.causal = true}).y);
    for (int64_t b = 0; b < s.batch; ++b) {
      const auto at = [&](const Tensor& x, int64_t from) {
        return x.rows(b, b + 1)
            .reshape({6, s.heads, s.dim})
            .rows(from, 6)
            .reshape({1, 6 - from, s.heads, s.dim});
      };
      const Array last =
          to_array(attention(at(t[0], 5), at(t[1], 0), at(t[2], 0), {.causal = true}).y);
      const auto row = all.values.begin() + (b * 6 + 5) * s.heads * s.dim;
      EXPECT_LE(error_between(last, Array{last.shape, {row, row + s.heads * s.dim}}),
                dtype == DType::f32 ? 1e-5 : 0.02);
    }
  }
}

// One tensor as queries, keys and values: its gradient is the sum of the three.
TEST(Attention, OneTensorForAll) {
  const std::vector<Tensor> t = make_inputs(attention_case({.name = "same"}), DType::f32);
  const auto gradient = [&](bool same) {
    Tape tape;
    const TapeScope scope(tape);
    Tensor q = t[0].clone();
    Tensor k = q.clone();
    Tensor v = q.clone();
    tape.watch(q);
    tape.watch(k);
    tape.watch(v);
    const Tensor y = same ? attention(q, q, q).y : attention(q, k, v).y;
    tape.backward(y, t[1]);
    Array total = to_array(q.slot()->grad);
    for (size_t i = 0; !same && i < total.values.size(); ++i) {
      total.values[i] += to_array(k.slot()->grad).values[i] + to_array(v.slot()->grad).values[i];
    }
    return total;
  };
  EXPECT_LE(error_between(gradient(true), gradient(false)), 1e-5);
}

// Keys beyond the last query take part in nothing, and their gradient is zero.
TEST(Attention, KeysBeyondTheQueriesGetZeroGradients) {
  const std::vector<Tensor> t =
      make_inputs(attention_case({.name = "beyond", .queries = 2, .keys = 7}), DType::f32);
  Tape tape;
  const TapeScope scope(tape);
  Tensor k = t[1];
  tape.watch(k);
  const AttentionResult result =
      attention(t[0], k, t[2], {.causal = true, .position = 1, .weights = true});
  EXPECT_EQ(result.weights.shape(), Shape({2, 2, 2, 7}));
  tape.backward(result.y, t[0]);
  const Array gradient = to_array(k.slot()->grad);
  for (size_t i = 0; i < gradient.values.size(); ++i) {
    const size_t key = i / 8 % 7;
    EXPECT_EQ(gradient.values[i] == 0.0, key > 2) << "element " << i;
  }
}

TEST(Attention, NamesWhatIsWrong) {
  const Tensor q = Tensor::zeros({1, 2, 2, 4});
  EXPECT_THROW(attention(q, Tensor::zeros({1, 2, 3, 4}), Tensor::zeros({1, 2, 3, 4})), Error);
  const std::vector<int32_t> lengths{3};
  try {
    attention(q, q, q, {.lengths = Tensor::from_ints(lengths, {1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[attention] lengths[0] is 3, expected 0 to 2");
  }
}

}  // namespace
}  // namespace heed::testing
