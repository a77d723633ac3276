// Models by name: a configuration as JSON, "kind" and perhaps "preset" and then its fields, becomes
// a model. A new model needs one line in registry.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/module.h"

namespace heed {

// The preset filled in and every field written out and checked. `where` names the file in errors.
Json resolve_model_config(const Json& config, std::string_view where);

// From a resolved configuration.
std::unique_ptr<Seq2SeqModel> make_seq2seq(const Scope& s, const Json& config);

struct ModelHelp {
  std::string kind;
  std::vector<std::string> presets;
  std::vector<config::FieldHelp> fields;
};
std::vector<ModelHelp> describe_models();

}  // namespace heed
