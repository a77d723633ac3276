#include "ops/norm.h"

#include <gtest/gtest.h>

#include "kernels/reduction/norm.h"
#include "kernels/reference/reference.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

OpCase layer_norm_case(std::string name, Shape x, bool affine) {
  std::vector<Input> inputs{{.shape = x, .scale = 2.0, .offset = 0.5}};
  if (affine) {
    inputs.push_back({.shape = {x[-1]}, .kind = Kind::parameter});
    inputs.push_back({.shape = {x[-1]}, .kind = Kind::parameter});
  }
  return {.op = "layer_norm",
          .name = std::move(name),
          .inputs = inputs,
          .run =
              [=](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{
                    layer_norm(t[0], affine ? t[1] : Tensor(), affine ? t[2] : Tensor())};
              },
          .reference =
              [=](const std::vector<Array>& a) {
                const std::vector<double> none;
                return std::vector<Array>{
                    {x, reference::norm<double>(a[0].values, affine ? a[1].values : none,
                                                affine ? a[2].values : none, x[-1], 1e-5, false)}};
              }};
}

OpCase rms_norm_case(std::string name, Shape x) {
  return {
      .op = "rms_norm",
      .name = std::move(name),
      .inputs = {{.shape = x}, {.shape = {x[-1]}, .kind = Kind::parameter}},
      .run = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{rms_norm(t[0], t[1])}; },
      .reference =
          [=](const std::vector<Array>& a) {
            return std::vector<Array>{
                {x, reference::norm<double>(a[0].values, a[1].values, {}, x[-1], 1e-6, true)}};
          }};
}

// s = x + dropout(branch) and norm(s), both outputs.
OpCase residual_case(std::string name, Shape x, NormOptions options) {
  return {.op = "residual_norm",
          .name = std::move(name),
          .inputs = {{.shape = x},
                     {.shape = x},
                     {.shape = {x[-1]}, .kind = Kind::parameter},
                     {.shape = {x[-1]}, .kind = Kind::parameter}},
          .run =
              [=](const std::vector<Tensor>& t) {
                const ResidualNorm r = residual_norm(t[0], t[1], t[2], t[3], options);
                return std::vector<Tensor>{r.sum, r.normed};
              },
          .reference =
              [=](const std::vector<Array>& a) {
                const kernels::Dropout dropout{options.dropout, {kCaseSeed, 0}};
                Array s{x, reference::dropout<double>(a[1].values, dropout, x[-1],
                                                      kernels::padded_width(x[-1]))};
                for (size_t i = 0; i < s.values.size(); ++i) {
                  s.values[i] += a[0].values[i];
                }
                return std::vector<Array>{
                    s,
                    {x, reference::norm<double>(s.values, a[2].values, a[3].values, x[-1],
                                                options.epsilon, false)}};
              }};
}

const bool kRegistered = add_cases({
    layer_norm_case("affine", {3, 2, 37}, true),
    layer_norm_case("plain", {5, 16}, false),
    layer_norm_case("many_rows", {40, 8}, true),
    rms_norm_case("odd", {3, 19}),
    rms_norm_case("many_rows", {33, 16}),
    residual_case("no_dropout", {3, 21}, {}),
    residual_case("dropout", {4, 150}, {.dropout = 0.3F}),
});

TEST(LayerNorm, BetaWithoutGamma) {
  const std::vector<float> x{1, 3};
  const std::vector<float> beta{10, 20};
  const std::vector<float> y =
      layer_norm(Tensor::from(x, {1, 2}), Tensor(), Tensor::from(beta, {2}), 0.0F).to_vector();
  EXPECT_NEAR(y[0], 9.0F, 1e-5F);
  EXPECT_NEAR(y[1], 21.0F, 1e-5F);
}

}  // namespace
}  // namespace heed::testing
