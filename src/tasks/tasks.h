// The tasks that exist, and recipes that may ask for them.
#pragma once

#include <span>

#include "train/task.h"

namespace heed {

std::span<const TaskKind> tasks();

inline Recipe read_recipe(const std::filesystem::path& file,
                          std::span<const std::string> settings = {}) {
  return read_recipe(file, settings, tasks());
}
inline Recipe parse_recipe(Json json, const std::string& where) {
  return parse_recipe(std::move(json), where, tasks());
}

}  // namespace heed
