// Every model on a mesh computes what it computes alone: the loss, and the gradient of every
// parameter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/tape.h"
#include "models/registry.h"
#include "support/model_variants.h"
#include "support/thread_mesh.h"

namespace heed::testing {
namespace {

struct Computed {
  float loss = 0.0F;
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, std::vector<float>> gradients;
  int64_t elements = 0;  // that the process has
};

Computed compute(const Json& config, const Mesh& mesh) {
  ParameterStore store;
  store.lay_out_on(mesh);
  const auto model = make_model(store.root(), config);
  store.allocate(DType::f32, 3);
  Tape tape(5);
  Computed computed;
  {
    const TapeScope scope(tape);
    const Tensor loss = variant_loss(*model, config);
    computed.loss = loss.item();
    tape.backward(loss);
  }
  store.finish_gradients();
  for (const ParameterEntry& entry : store.entries()) {
    computed.values[entry.name] = whole_of(entry, entry.value).to_vector();
    computed.gradients[entry.name] = whole_of(entry, entry.slot.grad).to_vector();
    computed.elements += entry.shape.size();
  }
  return computed;
}

// Dropout inside of what is split differs from one mesh to the other: each process drops its own.
Json without_dropout(Json config) {
  for (auto& [key, value] : config.items()) {
    if (key.ends_with("dropout")) {
      value = 0.0;
    }
  }
  return config;
}

class MeshModelsTest : public ::testing::TestWithParam<ModelVariant> {};

TEST_P(MeshModelsTest, ComputeWhatOneProcessDoes) {
  const Json config = without_dropout(resolve_model_config(GetParam().config, "test"));
  const Computed one = compute(config, Mesh::single());
  on_mesh({.axes = "model:2"}, [&](const Mesh& mesh) {
    const Computed own = compute(config, mesh);
    EXPECT_NEAR(own.loss, one.loss, 1e-5);
    EXPECT_EQ(own.values, one.values);
    for (const auto& [name, expected] : one.gradients) {
      const std::vector<float>& found = own.gradients.at(name);
      ASSERT_EQ(found.size(), expected.size()) << name;
      double worst = 0.0;
      for (size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(found[i] - expected[i])));
      }
      EXPECT_LT(worst, 1e-5) << name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, MeshModelsTest, ::testing::ValuesIn(model_variants()),
                         [](const auto& info) { return info.param.name; });

TEST(MeshModels, HaveAPartOfTheTransformer) {
  const Json config = without_dropout(resolve_model_config({{"kind", "transformer"},
                                                            {"vocabulary", 40},
                                                            {"width", 32},
                                                            {"heads", 4},
                                                            {"hidden", 64},
                                                            {"encoder_layers", 1},
                                                            {"decoder_layers", 1}},
                                                           "test"));
  const Computed one = compute(config, Mesh::single());
  on_mesh({.axes = "model:4"}, [&](const Mesh& mesh) {
    const Computed own = compute(config, mesh);
    // What is not split are norms and the biases behind sums.
    EXPECT_LT(own.elements, one.elements * 4 / 10);
    EXPECT_NEAR(own.loss, one.loss, 1e-5);
  });
}

}  // namespace
}  // namespace heed::testing
