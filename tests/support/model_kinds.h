// The kinds of models as errors list them: all that the registry has.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/registry.h"

namespace heed::testing {

inline std::string model_kinds() {
  std::vector<std::string> kinds;
  for (const ModelHelp& model : describe_models()) {
    kinds.push_back(model.kind);
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace heed::testing
