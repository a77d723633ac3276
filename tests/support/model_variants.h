// Every kind of model in its smallest form, with each of its options, and a loss over all that it
// can say.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "models/model.h"

namespace heed::testing {

struct ModelVariant {
  std::string name;
  Json config;
};

std::vector<ModelVariant> model_variants();
Tensor variant_loss(const Model& model, const Json& config);

}  // namespace heed::testing
