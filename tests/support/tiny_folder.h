// A folder with a small GPT-2 or BERT whose values are drawn by chance.
#pragma once

#include <memory>
#include <string>

#include "models/folder.h"
#include "support/text_files.h"

namespace heed::testing {

// The model's fields; `more` are to be other than here.
inline Json tiny_gpt(const Json& more = Json::object()) {
  Json fields{{"kind", "gpt2"}, {"context", 24}, {"width", 32},
              {"heads", 4},     {"layers", 2},   {"initializer_range", 0.3}};
  fields.update(more);
  return fields;
}
inline Json tiny_bert(const Json& more = Json::object()) {
  Json fields{
      {"kind", "bert"}, {"longest", 20},           {"width", 16}, {"heads", 2}, {"layers", 2},
      {"hidden", 24},   {"initializer_range", 0.3}};
  fields.update(more);
  return fields;
}

struct TinyFolder {
  explicit TinyFolder(Json fields = tiny_gpt(), uint64_t seed = 8) {
    tokenizer = train_tokenizer({"the quick brown fox jumps over the lazy dog.\n", "für Größe?"},
                                {.kind = "char"});
    fields["vocabulary"] = tokenizer->size();
    config.model = resolve_model_config(fields, "test");
    any = make_model(store.root(), config.model);
    store.allocate(DType::f32, seed, ParameterStore::Use::batch_invariant);
    save_config(path(), config);
    save_tokenizers(path(), {tokenizer, tokenizer});
    save_parameters(file(), store, config.model);
  }

  std::filesystem::path path() const { return folder / ""; }
  std::filesystem::path file() const { return folder / "model.safetensors"; }
  std::unique_ptr<Loaded<LanguageModel>> load(DType dtype = DType::f32) const {
    return load_as<LanguageModel>(path(), dtype);
  }

  TemporaryFolder folder;
  FolderConfig config;
  std::shared_ptr<const Tokenizer> tokenizer;
  ParameterStore store;
  std::unique_ptr<Model> any;
};

}  // namespace heed::testing
