// Every parameter of every model learns: a loss over all that a model can say gives each of them a
// gradient. A parameter without one is a layer that is built but not used.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/tape.h"
#include "models/registry.h"
#include "support/model_variants.h"

namespace heed::testing {
namespace {

class GradientsTest : public ::testing::TestWithParam<ModelVariant> {};

TEST_P(GradientsTest, EveryParameterHasOne) {
  const Json config = resolve_model_config(GetParam().config, "test");
  ParameterStore store;
  const auto model = make_model(store.root(), config);
  store.allocate(DType::f32, 3);
  Tape tape(5);
  {
    const TapeScope scope(tape);
    tape.backward(variant_loss(*model, config));
  }
  store.finish_gradients();
  EXPECT_FALSE(store.entries().empty());
  for (const ParameterEntry& entry : store.entries()) {
    const std::vector<float> gradient = entry.slot.grad.to_vector();
    EXPECT_TRUE(std::all_of(gradient.begin(), gradient.end(), [](float g) {
      return std::isfinite(g);
    })) << entry.name;
    const bool learns =
        std::any_of(gradient.begin(), gradient.end(), [](float g) { return g != 0.0F; });
    EXPECT_EQ(learns, entry.trained) << entry.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, GradientsTest, ::testing::ValuesIn(model_variants()),
                         [](const auto& info) { return info.param.name; });

TEST(Gradients, OfEveryModelThatIsRegistered) {
  for (const ModelHelp& model : describe_models()) {
    const std::vector<ModelVariant> all = model_variants();
    EXPECT_TRUE(std::any_of(
        all.begin(), all.end(),
        [&](const ModelVariant& variant) { return variant.config["kind"] == model.kind; }))
        << model.kind << " has no variant here";
  }
}

}  // namespace
}  // namespace heed::testing
