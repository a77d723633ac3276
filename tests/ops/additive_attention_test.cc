#include "ops/attention/additive_attention.h"

#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kernels/cpu.h"
#include "kernels/reference/additive_attention.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// B rows, Q queries, K keys, A columns of queries and keys, V of values.
struct AdditiveCase {
  std::string name;
  int64_t B, Q, K, A, V;
  std::vector<double> lengths = {};
  double offset = 0.0;  // added to queries and taken from keys
  enum { both, context, weights } outputs = both;
};

std::vector<Input> inputs_of(const AdditiveCase& c) {
  std::vector<Input> inputs{{.shape = {c.B, c.Q, c.A}, .offset = c.offset},
                            {.shape = {c.B, c.K, c.A}, .offset = -c.offset},
                            {.shape = {c.A}, .kind = Kind::parameter},
                            {.shape = {c.B, c.K, c.V}, .gradient = c.outputs != c.weights}};
  if (!c.lengths.empty()) {
    inputs.push_back({.shape = {c.B}, .kind = Kind::integer, .values = c.lengths});
  }
  return inputs;
}

template <typename T>
std::vector<T> chosen(const AdditiveCase& c, const T& context, const T& weights) {
  switch (c.outputs) {
    case AdditiveCase::context:
      return {context};
    case AdditiveCase::weights:
      return {weights};
    default:
      return {context, weights};
  }
}

OpCase additive_case(const AdditiveCase& c) {
  return {.op = "additive_attention",
          .name = c.name,
          .inputs = inputs_of(c),
          .run =
              [=](const std::vector<Tensor>& t) {
                const AdditiveAttention r =
                    additive_attention({.query = t[0],
                                        .keys = t[1],
                                        .v = t[2],
                                        .values = t[3],
                                        .lengths = c.lengths.empty() ? Tensor() : t[4]});
                return chosen(c, r.context, r.weights);
              },
          .reference =
              [=](const std::vector<Array>& a) {
                const auto r = reference::additive_attention<double>(
                    {.batch = c.B,
                     .queries = c.Q,
                     .keys = c.K,
                     .width = c.A,
                     .value_width = c.V,
                     .lengths = {c.lengths.begin(), c.lengths.end()},
                     .query = a[0].values,
                     .key = a[1].values,
                     .v = a[2].values,
                     .values = a[3].values});
                return chosen<Array>(c, {{c.B, c.Q, c.V}, r.context}, {{c.B, c.Q, c.K}, r.weights});
              }};
}

const bool kRegistered = add_cases({
    additive_case({.name = "small", .B = 2, .Q = 3, .K = 4, .A = 7, .V = 5}),
    additive_case({.name = "one_query", .B = 3, .Q = 1, .K = 5, .A = 17, .V = 4}),
    additive_case({.name = "one_key",
                   .B = 1,
                   .Q = 4,
                   .K = 1,
                   .A = 3,
                   .V = 2,
                   .outputs = AdditiveCase::context}),
    additive_case({.name = "wide", .B = 1, .Q = 5, .K = 3, .A = 100, .V = 1}),
    additive_case({.name = "many_keys", .B = 1, .Q = 2, .K = 33, .A = 5, .V = 3}),
    additive_case(
        {.name = "lengths", .B = 3, .Q = 4, .K = 6, .A = 9, .V = 7, .lengths = {2, 6, 1}}),
    additive_case({.name = "one_query_lengths",
                   .B = 2,
                   .Q = 1,
                   .K = 17,
                   .A = 8,
                   .V = 3,
                   .lengths = {17, 5},
                   .outputs = AdditiveCase::context}),
    additive_case({.name = "weights_only",
                   .B = 2,
                   .Q = 3,
                   .K = 4,
                   .A = 5,
                   .V = 2,
                   .outputs = AdditiveCase::weights}),
    // Past what e^2q e^2k can hold in f32: q + k is small, q and k are not.
    additive_case({.name = "large", .B = 1, .Q = 4, .K = 3, .A = 5, .V = 2, .offset = 64.0}),
});

// Runs forward and backward on `threads` threads and gives all results.
std::vector<Array> run_on(int threads) {
  const int before = num_threads();
  set_num_threads(threads);
  std::vector<Input> inputs =
      inputs_of({.name = "", .B = 3, .Q = 40, .K = 50, .A = 200, .V = 8, .lengths = {50, 20, 35}});
  std::vector<Tensor> t = make_inputs(
      {.op = "additive_attention", .name = "threads", .inputs = inputs, .run = {}, .reference = {}},
      DType::f32);
  Tape tape;
  const TapeScope scope(tape);
  for (size_t i = 0; i < 4; ++i) {
    tape.watch(t[i]);
  }
  const AdditiveAttention r =
      additive_attention({.query = t[0], .keys = t[1], .v = t[2], .values = t[3], .lengths = t[4]});
  std::vector<Array> results{to_array(r.weights)};
  tape.backward(r.weights, r.weights.clone());
  for (size_t i = 0; i < 3; ++i) {
    results.push_back(to_array(t[i].slot()->grad));
  }
  set_num_threads(before);
  return results;
}

TEST(AdditiveAttention, ThreadsDoNotChangeABit) {
  max_isa();  // so that HEED_MAX_ISA counts for the first run too
  const std::vector<Array> one = run_on(1);
  for (const int threads : {2, 3}) {
    const std::vector<Array> many = run_on(threads);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].values, many[i].values) << "result " << i << " on " << threads;
    }
  }
}

TEST(AdditiveAttention, EmptyRowsGetZeros) {
  const Tensor ones = Tensor::full({2, 3, 4}, 1.0F);
  const AdditiveAttention r =
      additive_attention({.query = ones,
                          .keys = ones,
                          .v = Tensor::full({4}, 1.0F),
                          .values = ones,
                          .lengths = Tensor::from_ints(std::vector<int32_t>{0, 2}, {2})});
  for (int64_t i = 0; i < r.context.size(); ++i) {
    EXPECT_FLOAT_EQ(r.context.data<float>()[i], i < 12 ? 0.0F : 1.0F);
  }
}

TEST(AdditiveAttention, ErrorsNameBothValues) {
  const AdditiveAttentionInputs good{.query = Tensor::zeros({2, 3, 4}),
                                     .keys = Tensor::zeros({2, 5, 4}),
                                     .v = Tensor::zeros({4}),
                                     .values = Tensor::zeros({2, 5, 6})};
  const auto with = [&](Tensor AdditiveAttentionInputs::*member, const Tensor& tensor) {
    return [=] {
      AdditiveAttentionInputs inputs = good;
      inputs.*member = tensor;
      additive_attention(inputs);
    };
  };
  using Inputs = AdditiveAttentionInputs;
  expect_error(with(&Inputs::query, Tensor::zeros({3, 4})),
               "[additive_attention] query is [3,4], expected [B,Tq,A]");
  expect_error(with(&Inputs::keys, Tensor::zeros({2, 5, 3})),
               "[additive_attention] keys is [2,5,3], query is [2,3,4]: expected keys [2,Tk,4]");
  expect_error(with(&Inputs::v, Tensor::zeros({5})),
               "[additive_attention] v is f32 [5], expected [4]");
  expect_error(with(&Inputs::values, Tensor::zeros({2, 4, 6})),
               "[additive_attention] values is [2,4,6], keys is [2,5,4]: expected values [2,5,V]");
  expect_error(with(&Inputs::lengths, Tensor::from_ints(std::vector<int32_t>{6, 1}, {2})),
               "[additive_attention] length 6 of row 0, expected 0 to 5");
}

}  // namespace
}  // namespace heed::testing
