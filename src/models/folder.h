// Model folders: config.json, model.safetensors and the tokenizer, everything a model needs to be
// used. A joint tokenizer is one file; separate ones are named source.* and target.*.
//
// A folder may come from strangers: what is missing, mistyped or of the wrong shape is an Error
// that names the file and the tensor.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "formats/safetensors.h"
#include "models/folder_config.h"
#include "models/model.h"
#include "models/registry.h"
#include "nn/parameters.h"
#include "text/tokenizer.h"

namespace heed {

struct Tokenizers {
  std::shared_ptr<const Tokenizer> source;  // null, as the target, of models that read no text
  std::shared_ptr<const Tokenizer> target;  // the same object if joint

  bool joint() const { return source == target; }
};
void save_tokenizers(const std::filesystem::path& folder, const Tokenizers& tokenizers);
Tokenizers load_tokenizers(const std::filesystem::path& folder);
// None, if the model of this configuration reads no text.
Tokenizers load_tokenizers(const std::filesystem::path& folder, const Json& model);
bool has_tokenizers(const std::filesystem::path& folder);

// A model ready for use. Not movable: the model points into the store.
struct LoadedFolder {
  FolderConfig config;
  Tokenizers tokenizers;
  ParameterStore store;
  std::unique_ptr<Model> any;

  ModelSpec spec() const { return config.spec(); }
  // A source's ids as the model wants them.
  std::vector<int32_t> encode_source(std::string_view text) const;
};
// Without a compute dtype: i8 for a folder of int8 weights, else f32.
void load_folder(const std::filesystem::path& folder, std::optional<DType> compute,
                 LoadedFolder& loaded);

// The same with the model as what it is wanted for: Seq2SeqModel, LanguageModel, TextEncoder.
template <typename Interface>
struct Loaded : LoadedFolder {
  const Interface* model = nullptr;
};
template <typename Interface>
std::unique_ptr<Loaded<Interface>> load_as(const std::filesystem::path& folder,
                                           std::optional<DType> compute) {
  auto loaded = std::make_unique<Loaded<Interface>>();
  load_folder(folder, compute, *loaded);
  loaded->model = &model_as<Interface>(*loaded->any, loaded->config.model);
  return loaded;
}
using LoadedModel = Loaded<Seq2SeqModel>;
inline std::unique_ptr<LoadedModel> load_model(const std::filesystem::path& folder,
                                               std::optional<DType> compute) {
  return load_as<Seq2SeqModel>(folder, compute);
}

using LoadedTranslator = Loaded<TranslationModel>;
inline std::unique_ptr<LoadedTranslator> load_translator(const std::filesystem::path& folder,
                                                         std::optional<DType> compute) {
  return load_as<TranslationModel>(folder, compute);
}

// All parameters, under the names that files of the model's kind have. `dtype` is that of matrices;
// vectors are always f32. With i8 the matrices of products are integers with scales, and the others
// bf16: docs/formats.md.
void save_parameters(const std::filesystem::path& file, const ParameterStore& store,
                     const Json& model, DType dtype = DType::f32);
// On a mesh all processes call it, and each writes a part of the file.
//
// The whole parameter, or what an optimizer keeps of it, of which this process has `part`: nothing,
// if another process is to write it. All processes call it, in the order of the parameters.
std::optional<Tensor> to_write(const ParameterStore& store, const ParameterEntry& entry,
                               const Tensor& part);
FileWriters writers_of(const Mesh& mesh);
// A new folder with everything; the store's values are f32.
void save_folder(const std::filesystem::path& folder, const FolderConfig& config,
                 const Tokenizers& tokenizers, const ParameterStore& store,
                 DType dtype = DType::f32);
// The same model with its weights as `dtype`.
void convert_folder(const std::filesystem::path& input, const std::filesystem::path& output,
                    DType dtype);
bool is_model_folder(const std::filesystem::path& path);  // of Heed's or of Hugging Face's
// Into the master of a store for training. Every tensor must belong to a parameter of its shape,
// and every parameter must be there. With `may_lack` the other model may have had other heads:
// those are left alone, and a parameter of which may_lack(name) is true keeps its initial values if
// it is not there, and is returned.
std::vector<std::string> load_parameters(
    const std::filesystem::path& path, ParameterStore& store, const Json& model,
    const std::function<bool(std::string_view)>& may_lack = {});

}  // namespace heed
