#include "ops/feed_forward.h"

#include "kernels/elementwise/dropout.h"
#include "kernels/reference/reference.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

OpCase feed_forward_case(std::string name, int64_t rows, int64_t width, int64_t hidden,
                         FeedForwardOptions options) {
  const auto run = [=](const std::vector<Tensor>& t) {
    return std::vector<Tensor>{feed_forward(t[0], {t[1], t[2], t[3], t[4]}, options)};
  };
  const auto reference = [=](const std::vector<Array>& a) {
    std::vector<double> h =
        reference::linear<double>(a[0].values, a[1].values, a[2].values, width, options.activation);
    const auto size = static_cast<int64_t>(h.size());
    h = reference::dropout<double>(h, {options.dropout, {kCaseSeed, 0}}, size, size);
    return std::vector<Array>{
        {{rows, width},
         reference::linear<double>(h, a[3].values, a[4].values, hidden, Activation::none)}};
  };
  return {.op = "feed_forward",
          .name = std::move(name),
          .inputs = {{.shape = {rows, width}},
                     {.shape = {hidden, width}, .scale = 0.4},
                     {.shape = {hidden}, .kind = Kind::parameter, .scale = 0.5},
                     {.shape = {width, hidden}, .scale = 0.4},
                     {.shape = {width}, .kind = Kind::parameter}},
          .run = run,
          .reference = reference,
          .bf16_tolerance = 0.05};
}

const bool kRegistered = add_cases({
    feed_forward_case("relu", 5, 6, 11, {.activation = Activation::relu}),
    feed_forward_case("gelu", 5, 6, 11, {.activation = Activation::gelu}),
    feed_forward_case("gelu_tanh_dropout", 5, 6, 24,
                      {.activation = Activation::gelu_tanh, .dropout = 0.25F}),
    feed_forward_case("relu_dropout", 2, 5, 14, {.activation = Activation::relu, .dropout = 0.5F}),
});

}  // namespace
}  // namespace heed::testing
