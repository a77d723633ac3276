// A folder with a small GPT-2 of music whose values are drawn by chance.
#pragma once

#include <memory>
#include <string>

#include "data/music_tokens.h"
#include "support/tiny_folder.h"

namespace heed::testing {

inline void write_music_folder(const std::filesystem::path& path, MusicForm form,
                               Json fields = tiny_gpt({{"context", 128}}), uint64_t seed = 8) {
  const auto tokenizer = music_tokenizer(form);
  fields["vocabulary"] = tokenizer->size();
  FolderConfig config;
  config.model = resolve_model_config(fields, "test");
  ParameterStore store;
  const auto model = make_model(store.root(), config.model);
  store.allocate(DType::f32, seed, ParameterStore::Use::batch_invariant);
  save_folder(path, config, {tokenizer, tokenizer}, store);
}

struct TinyMusicFolder {
  explicit TinyMusicFolder(MusicForm form = MusicForm::performance,
                           const Json& fields = tiny_gpt({{"context", 128}})) {
    write_music_folder(folder / "model", form, fields);
    model = load_as<LanguageModel>(folder / "model", DType::f32);
  }

  TemporaryFolder folder;
  std::unique_ptr<Loaded<LanguageModel>> model;
};

}  // namespace heed::testing
