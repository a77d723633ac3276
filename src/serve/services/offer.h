// What a service offers: what its model can do and how it is described. Routes ask it from their
// own threads, so it never changes, and neither does anything else that a service lets them have.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "models/folder.h"
#include "serve/api/json_request.h"

namespace heed::serve {

// A model folder, before its weights are read.
struct FolderToServe {
  std::filesystem::path path;
  FolderConfig config;
  std::optional<DType> compute = {};
  std::filesystem::path draft = {};  // a smaller model that runs ahead; empty: none
  int64_t draft_tokens = 4;
};

// Besides, a service that is listed in service_table.cc has
//   static bool serves(const ModelSpec& spec, const FolderConfig& config);
//   static std::unique_ptr<ItsType> load(const FolderToServe& folder);
class Offer {
 public:
  virtual ~Offer() = default;
  Offer() = default;
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

  virtual std::set<std::string> abilities() const = 0;  // docs/serve.md lists them
  virtual Json describe() const = 0;  // for /v1/models, besides the kind and the abilities
};

// The abilities of a service that can show attention if its model has any.
inline std::set<std::string> with_attention(std::set<std::string> abilities,
                                            const ModelSpec& spec) {
  if (spec.attention) {
    abilities.insert("attention");
  }
  return abilities;
}

}  // namespace heed::serve
