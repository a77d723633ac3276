#include "autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "kernels/reference/reference.h"
#include "ops/feed_forward.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// A feed-forward network with dropout inside, recomputed on the way back.
OpCase checkpoint_case() {
  const FeedForwardOptions options{.activation = Activation::gelu, .dropout = 0.3F};
  return {.op = "checkpoint",
          .name = "feed_forward",
          .inputs = {{.shape = {3, 5}}, {.shape = {8, 5}}, {.shape = {5, 8}}},
          .run =
              [=](const std::vector<Tensor>& t) {
                const auto block = [=](const Tensor& x) {
                  return feed_forward(x, {t[1], Tensor(), t[2], Tensor()}, options);
                };
                return std::vector<Tensor>{checkpoint(block, t[0])};
              },
          .reference =
              [=](const std::vector<Array>& a) {
                std::vector<double> h =
                    reference::linear<double>(a[0].values, a[1].values, {}, 5, options.activation);
                h = reference::dropout<double>(h, {options.dropout, {kCaseSeed, 0}}, 24, 24);
                return std::vector<Array>{
                    {{3, 5}, reference::linear<double>(h, a[2].values, {}, 8, Activation::none)}};
              },
          .bf16_tolerance = 0.05};
}

const bool kRegistered = add_cases({checkpoint_case()});

}  // namespace
}  // namespace heed::testing
