// A folder with a small BERT or recurrent encoder, whose values are drawn by chance, and a
// WordPiece tokenizer.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/folder.h"
#include "support/text_files.h"

namespace heed::testing {

inline std::shared_ptr<const Tokenizer> tiny_wordpiece() {
  return train_tokenizer({"the cat saw the dog", "the dog saw a bird and the cat ran", "a b c d"},
                         {.kind = "wordpiece", .vocabulary = 80});
}

class TinyEncoder {
 public:
  // `fields` are the model's; `config` may have names for its classes.
  explicit TinyEncoder(const Json& fields = Json::object(), FolderConfig config = {},
                       std::shared_ptr<const Tokenizer> tokenizer = tiny_wordpiece()) {
    Json all{
        {"kind", "bert"}, {"longest", 20},           {"width", 16}, {"heads", 2}, {"layers", 2},
        {"hidden", 24},   {"initializer_range", 0.3}};
    if (fields.value("kind", "bert") != "bert") {
      all = Json::object();
    }
    all.update(fields);
    all["vocabulary"] = (tokenizer->size() + 15) / 16 * 16;  // rounded up, as trainings do
    config.model = resolve_model_config(all, "test");
    ParameterStore store;
    const auto model = make_model(store.root(), config.model);
    store.allocate(DType::f32, 8, ParameterStore::Use::batch_invariant);
    save_config(path(), config);
    save_tokenizers(path(), {tokenizer, tokenizer});
    save_parameters(path() / "model.safetensors", store, config.model);
  }

  std::filesystem::path path() const { return folder_ / ""; }
  std::unique_ptr<Loaded<TextEncoder>> load(DType dtype = DType::f32) const {
    return load_as<TextEncoder>(path(), dtype);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace heed::testing
