// Model folders: config.json, model.safetensors and the tokenizer, everything a model needs to be
// used. A joint tokenizer is one file; separate ones are named source.* and target.*.
//
// A folder may come from strangers: what is missing, mistyped or of the wrong shape is an Error
// that names the file and the tensor.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "base/config.h"
#include "models/model.h"
#include "nn/module.h"
#include "text/tokenizer.h"

namespace heed {

struct Tokenizers {
  std::shared_ptr<const Tokenizer> source;
  std::shared_ptr<const Tokenizer> target;  // the same object if joint

  bool joint() const { return source == target; }
};
void save_tokenizers(const std::filesystem::path& folder, const Tokenizers& tokenizers);
Tokenizers load_tokenizers(const std::filesystem::path& folder);
bool has_tokenizers(const std::filesystem::path& folder);

// What config.json says.
struct FolderConfig {
  Json model = Json::object();  // resolved: see models/registry.h
  bool source_end = true;       // sources are shown with END behind them
};
void save_config(const std::filesystem::path& folder, const FolderConfig& config);
FolderConfig load_config(const std::filesystem::path& folder);

// A model ready for use. Not movable: the model points into the store.
struct LoadedModel {
  FolderConfig config;
  Tokenizers tokenizers;
  ParameterStore store;
  std::unique_ptr<Seq2SeqModel> model;

  // A source's ids as the model wants them.
  std::vector<int32_t> encode_source(std::string_view text) const;
};
std::unique_ptr<LoadedModel> load_model(const std::filesystem::path& folder, DType compute);

// All parameters as f32, under their names.
void save_parameters(const std::filesystem::path& file, const ParameterStore& store,
                     const std::map<std::string, std::string>& metadata = {});
// Into the master of a store for training; every name and shape must be there, and no other.
void load_parameters(const std::filesystem::path& file, ParameterStore& store);

}  // namespace heed
