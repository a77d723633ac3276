// Models by name: a configuration as JSON, "kind" and perhaps "preset" and then its fields, becomes
// a model. A new model needs one line in registry.cc, and beside its configuration what
// models/spec.h asks for.
//
// The fields of a configuration are the model's own: others ask for its spec, and change it by the
// functions here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "models/model.h"
#include "models/spec.h"
#include "nn/parameters.h"

namespace heed {

// The preset filled in and every field written out and checked. `where` names the file in errors.
Json resolve_model_config(const Json& config, std::string_view where);

// From a resolved configuration.
std::unique_ptr<Model> make_model(const Scope& s, const Json& config);
ModelSpec model_spec(const Json& model);

// A resolved configuration with what data or a task decides about it. An Error for a model that
// cannot follow.
Json with_vocabularies(const Json& model, const VocabularySizes& sizes);
Json with_heads(const Json& model, const EncoderHeads& heads);
Json with_images(const Json& model, const ImageSizes& images);
Json with_answers(const Json& model, const AnswerSizes& sizes);
// The wanted model as it can begin with the weights of another one: of the fields that both have,
// all but dropout and random_offset are the other's. An Error unless that one is of the same kind
// or of the kind that the wanted one extends; `where` names it.
Json begun_with(const Json& wanted, const Json& other, std::string_view where);

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
