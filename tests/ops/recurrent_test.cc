#include "ops/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/reference/recurrent.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// B rows, T steps, I inputs, H wide.
struct RecurrentCase {
  std::string name;
  int64_t B, T, I, H;
  bool state = true;  // h0 and, for an LSTM, c0 are given
  bool bias = true;
  bool reverse = false;
  std::vector<double> lengths = {};
  bool outputs_only = false;  // no gradient reaches the last state
};

// Inputs in a fixed order: x, weights, then what the case has of biases, state and lengths.
struct Places {
  size_t bias = 0, h0 = 0, c0 = 0, lengths = 0;  // 0: absent
};
Places places_of(const RecurrentCase& c, bool lstm) {
  Places places;
  size_t next = 3;
  const auto take = [&](size_t count) { return std::exchange(next, next + count); };
  places.bias = c.bias ? take(2) : 0;
  places.h0 = c.state ? take(1) : 0;
  places.c0 = c.state && lstm ? take(1) : 0;
  places.lengths = c.lengths.empty() ? 0 : take(1);
  return places;
}

std::vector<Input> inputs_of(const RecurrentCase& c, bool lstm) {
  const int64_t columns = (lstm ? 4 : 3) * c.H;
  const double scale = 1.0 / std::sqrt(static_cast<double>(c.H));
  std::vector<Input> inputs{{.shape = {c.B, c.T, c.I}},
                            {.shape = {columns, c.I}, .scale = scale},
                            {.shape = {columns, c.H}, .scale = scale}};
  if (c.bias) {
    inputs.push_back({.shape = {columns}, .kind = Kind::parameter, .scale = 0.5});
    inputs.push_back({.shape = {columns}, .kind = Kind::parameter, .scale = 0.5});
  }
  if (c.state) {
    inputs.push_back({.shape = {c.B, c.H}, .scale = 0.5});
  }
  if (c.state && lstm) {
    inputs.push_back({.shape = {c.B, c.H}, .kind = Kind::parameter});
  }
  if (!c.lengths.empty()) {
    inputs.push_back({.shape = {c.B}, .kind = Kind::integer, .values = c.lengths});
  }
  return inputs;
}

reference::RecurrentInputs<double> reference_inputs(const RecurrentCase& c, bool lstm,
                                                    const std::vector<Array>& a) {
  const Places at = places_of(c, lstm);
  const auto values = [&](size_t place) {
    return place == 0 ? std::span<const double>() : std::span<const double>(a[place].values);
  };
  return {.batch = c.B,
          .time = c.T,
          .inputs = c.I,
          .width = c.H,
          .reverse = c.reverse,
          .lengths = {c.lengths.begin(), c.lengths.end()},
          .x = a[0].values,
          .weight_ih = a[1].values,
          .weight_hh = a[2].values,
          .bias_ih = values(at.bias),
          .bias_hh = at.bias == 0 ? values(0) : values(at.bias + 1),
          .h0 = values(at.h0),
          .c0 = values(at.c0)};
}

std::vector<Tensor> run_case(const RecurrentCase& c, bool lstm_cell, const std::vector<Tensor>& t) {
  const Places at = places_of(c, lstm_cell);
  const auto given = [&](size_t place) { return place == 0 ? Tensor() : t[place]; };
  const RecurrentWeights weights{.weight_ih = t[1],
                                 .weight_hh = t[2],
                                 .bias_ih = given(at.bias),
                                 .bias_hh = at.bias == 0 ? Tensor() : t[at.bias + 1]};
  const RecurrentOptions options{.reverse = c.reverse, .lengths = given(at.lengths)};
  std::vector<Tensor> outputs;
  if (lstm_cell) {
    const LstmResult r = lstm(t[0], weights, {given(at.h0), given(at.c0)}, options);
    outputs = {r.outputs, r.h_n, r.c_n};
  } else {
    const GruResult r = gru(t[0], weights, given(at.h0), options);
    outputs = {r.outputs, r.h_n};
  }
  outputs.resize(c.outputs_only ? 1 : outputs.size());
  return outputs;
}

OpCase recurrent_case(bool lstm, const RecurrentCase& c) {
  return {.op = lstm ? "lstm" : "gru",
          .name = c.name,
          .inputs = inputs_of(c, lstm),
          .run = [=](const std::vector<Tensor>& t) { return run_case(c, lstm, t); },
          .reference =
              [=](const std::vector<Array>& a) {
                const auto in = reference_inputs(c, lstm, a);
                const auto out = lstm ? reference::lstm(in) : reference::gru(in);
                std::vector<Array> arrays{{{c.B, c.T, c.H}, out.outputs}, {{c.B, c.H}, out.h}};
                if (lstm) {
                  arrays.push_back({{c.B, c.H}, out.c});
                }
                arrays.resize(c.outputs_only ? 1 : arrays.size());
                return arrays;
              }};
}

std::vector<OpCase> cases(bool lstm) {
  std::vector<OpCase> result;
  for (const RecurrentCase& c : std::vector<RecurrentCase>{
           {.name = "one_step", .B = 1, .T = 1, .I = 3, .H = 2},
           {.name = "no_state", .B = 2, .T = 4, .I = 5, .H = 7, .state = false},
           {.name = "no_bias", .B = 2, .T = 3, .I = 4, .H = 3, .bias = false},
           {.name = "one_row", .B = 1, .T = 20, .I = 2, .H = 3},
           {.name = "wide", .B = 3, .T = 2, .I = 1, .H = 17},
           {.name = "reverse", .B = 2, .T = 4, .I = 3, .H = 5, .reverse = true},
           {.name = "lengths", .B = 4, .T = 5, .I = 3, .H = 5, .lengths = {3, 5, 0, 1}},
           {.name = "short", .B = 2, .T = 6, .I = 3, .H = 4, .lengths = {3, 2}},
           {.name = "reverse_lengths",
           .B = 3,
           .T = 5,
           .I = 3,
           .H = 5,
           .reverse = true,
           .lengths = {2, 5, 4}},
           {.name = "many_steps",
           .B = 3,
           .T = 20,
           .I = 2,
           .H = 3,
           .lengths = {20, 7, 18},
           .outputs_only = true},
           {.name = "reverse_no_state",
           .B = 2,
           .T = 17,
           .I = 1,
           .H = 3,
           .state = false,
           .reverse = true,
           .lengths = {17, 9},
           .outputs_only = true},
       }) {
    result.push_back(recurrent_case(lstm, c));
  }
  return result;
}

const bool kRegistered = add_cases(cases(true)) && add_cases(cases(false));

// sin(first + i) / 2, the values that both sides of the comparison with PyTorch start from.
Tensor waves(const Shape& shape, double first) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(static_cast<float>(std::sin(first + static_cast<double>(i)) / 2));
  }
  return Tensor::from(values, shape);
}

void expect_near(const Tensor& ours, const std::vector<float>& theirs) {
  const std::vector<float> values = ours.to_vector();
  ASSERT_EQ(values.size(), theirs.size());
  for (size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_NEAR(values[i], theirs[i], 1e-6) << "element " << i;
  }
}

RecurrentWeights wave_weights(int64_t columns) {
  return {.weight_ih = waves({columns, 3}, 0),
          .weight_hh = waves({columns, 2}, 1),
          .bias_ih = waves({columns}, 2),
          .bias_hh = waves({columns}, 3)};
}

// The numbers of the next two tests are from PyTorch 1.13 in double: torch.nn.LSTM(3, 2) and
// torch.nn.GRU(3, 2) with batch_first, two steps; weight_ih, weight_hh, bias_ih, bias_hh, x, h0 and
// c0 hold sin(a + i) / 2 with a = 0, 1, 2, 3, 10, 11, 12; gradients are those of outputs.sum().
TEST(Recurrent, LstmGivesPyTorchsNumbers) {
  Tape tape;
  const TapeScope scope(tape);
  RecurrentWeights w = wave_weights(8);
  Tensor x = waves({1, 2, 3}, 10);
  Tensor h0 = waves({1, 2}, 11);
  for (Tensor* leaf : {&x, &h0, &w.weight_hh, &w.bias_ih}) {
    tape.watch(*leaf);
  }
  const LstmResult r = lstm(x, w, {h0, waves({1, 2}, 12)});
  expect_near(r.outputs, {-0.0501596692F, 0.2118734233F, 0.1400797702F, 0.1511037817F});
  expect_near(r.h_n, {0.1400797702F, 0.1511037817F});
  expect_near(r.c_n, {0.1995365410F, 0.3419872631F});
  tape.backward(r.outputs, Tensor::full({1, 2, 2}, 1.0F));
  expect_near(x.slot()->grad, {-0.0242917097F, 0.0195667752F, 0.0454356571F, -0.0555739737F,
                               0.0654834916F, 0.1263357367F});
  expect_near(h0.slot()->grad, {0.1226731840F, -0.1775994597F});
  expect_near(
      w.weight_hh.slot()->grad,
      {-0.0014794058F, 0.0096207090F, -0.0495210284F, -0.0145337261F, 0.0265561108F, 0.0110913667F,
       -0.0125350428F, 0.0039300541F, -0.2353980016F, -0.0202939550F, -0.0361043201F, 0.0026011483F,
       0.0092450030F, 0.0146168967F, -0.0555138518F, -0.0102648564F});
  expect_near(w.bias_ih.slot()->grad, {0.0421975668F, 0.1443991704F, -0.0650113497F, 0.0652191761F,
                                       0.8702342765F, 0.1550003808F, 0.0178915138F, 0.1845841805F});
}

TEST(Recurrent, GruGivesPyTorchsNumbers) {
  Tape tape;
  const TapeScope scope(tape);
  RecurrentWeights w = wave_weights(6);
  Tensor x = waves({1, 2, 3}, 10);
  Tensor h0 = waves({1, 2}, 11);
  for (Tensor* leaf : {&x, &h0, &w.weight_hh, &w.bias_ih, &w.bias_hh}) {
    tape.watch(*leaf);
  }
  const GruResult r = gru(x, w, h0);
  expect_near(r.outputs, {-0.2655654047F, 0.3769752103F, 0.0167441492F, 0.3385895949F});
  expect_near(r.h_n, {0.0167441492F, 0.3385895949F});
  tape.backward(r.outputs, Tensor::full({1, 2, 2}, 1.0F));
  expect_near(x.slot()->grad, {-0.1649112687F, 0.1823847710F, 0.3619970934F, 0.0616687353F,
                               -0.0188745511F, -0.0820646623F});
  expect_near(h0.slot()->grad, {0.4314382166F, 0.0978840438F});
  expect_near(
      w.weight_hh.slot()->grad,
      {-0.0418725505F, -0.0117370710F, -0.0587880271F, 0.0043908222F, 0.0794924158F, -0.0130925581F,
       0.1199144712F, 0.0706372056F, -0.3421156090F, 0.0397033745F, -0.1525109131F, 0.0171902026F});
  expect_near(w.bias_hh.slot()->grad, {0.0934313317F, 0.1500115326F, -0.2093019282F, -0.2341507180F,
                                       0.8857612205F, 0.3944019354F});
  expect_near(w.bias_ih.slot()->grad, {0.0934313317F, 0.1500115326F, -0.2093019282F, -0.2341507180F,
                                       1.5776668239F, 1.0101591819F});
}

// A parameter in bf16 collects its gradient in f32, here on top of what is there.
TEST(Recurrent, Bf16WeightsWithF32Gradients) {
  const auto run = [](DType dtype, GradSlot& slot) {
    Tape tape;
    const TapeScope scope(tape);
    RecurrentWeights w = wave_weights(8);
    w.weight_ih = w.weight_ih.to(dtype);
    w.weight_hh = w.weight_hh.to(dtype);
    w.weight_hh.set_slot(&slot);
    slot = {.grad = Tensor::full({8, 2}, 5.0F), .written = true};
    const LstmResult r = lstm(waves({3, 20, 3}, 1).to(dtype), w);
    tape.backward(r.outputs, Tensor::full({3, 20, 2}, 1.0F, dtype));
  };
  GradSlot wide;
  GradSlot narrow;
  run(DType::f32, wide);
  run(DType::bf16, narrow);
  EXPECT_EQ(narrow.grad.dtype(), DType::f32);
  EXPECT_LE(error_between(to_array(narrow.grad), to_array(wide.grad)), 0.03);
}

// Gates far outside the range of exp must still be 0 or 1.
TEST(Recurrent, ExtremeGatesSaturate) {
  for (const float bias : {-1000.0F, 1000.0F}) {
    RecurrentWeights w{.weight_ih = Tensor::zeros({4, 1}),
                       .weight_hh = Tensor::zeros({4, 1}),
                       .bias_ih = Tensor::full({4}, bias),
                       .bias_hh = {}};
    const LstmResult r = lstm(Tensor::zeros({1, 1, 1}), w, {{}, Tensor::full({1, 1}, 2.0F)});
    EXPECT_NEAR(r.c_n.item(), bias > 0 ? 3.0F : 0.0F, 1e-6);
    EXPECT_NEAR(r.h_n.item(), bias > 0 ? std::tanh(3.0F) : 0.0F, 1e-6);
  }
}

TEST(Recurrent, ErrorsNameBothValues) {
  const Tensor x = Tensor::zeros({2, 5, 3});
  const RecurrentWeights w{.weight_ih = Tensor::zeros({8, 3}),
                           .weight_hh = Tensor::zeros({8, 2}),
                           .bias_ih = {},
                           .bias_hh = {}};
  expect_error([&] { gru(x, w); }, "[gru] weight_hh is f32 [8,2], expected [6,2]");
  expect_error([&] { lstm(x.reshape({10, 3}), w); }, "[lstm] x is [10,3], expected [B,T,I]");
  expect_error([&] { lstm(x.to(DType::bf16), w); }, "[lstm] weight_hh is f32 [8,2], expected bf16");
  expect_error(
      [&] {
        lstm(Tensor::zeros({2, 5, 4}), w);
      },
      "[lstm] weight_ih is f32 [8,3], expected [8,4]");
  expect_error(
      [&] {
        lstm(x, w, {Tensor::zeros({2, 3}), {}});
      },
      "[lstm] h0 is f32 [2,3], expected [2,2]");
  expect_error(
      [&] {
        lstm(x, w, {{}, Tensor::zeros({2, 2}, DType::bf16)});
      },
      "[lstm] c0 is bf16 [2,2], expected f32");
  const RecurrentOptions long_row{.lengths = Tensor::from_ints(std::vector<int32_t>{5, 6}, {2})};
  expect_error([&] { lstm(x, w, {}, long_row); }, "[lstm] length 6 of row 1, expected 0 to 5");
}

}  // namespace
}  // namespace heed::testing
