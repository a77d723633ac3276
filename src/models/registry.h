// Models by name: a configuration as JSON, "kind" and perhaps "preset" and then its fields, becomes
// a model. A new model needs one line in registry.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "models/model.h"
#include "nn/parameters.h"

namespace heed {

// The preset filled in and every field written out and checked. `where` names the file in errors.
Json resolve_model_config(const Json& config, std::string_view where);

// From a resolved configuration.
std::unique_ptr<Model> make_model(const Scope& s, const Json& config);

// The model as what it is wanted for, or an Error that says what it is.
template <typename Interface>
Interface& model_as(Model& model, const Json& config) {
  auto* wanted = dynamic_cast<Interface*>(&model);
  check(wanted != nullptr, "[model] a {} is not {}", config.value("kind", "model"),
        Interface::kWhat);
  return *wanted;
}

struct ModelHelp {
  std::string kind;
  std::vector<std::string> presets;
  std::vector<config::FieldHelp> fields;
};
std::vector<ModelHelp> describe_models();

}  // namespace heed
