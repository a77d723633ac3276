// Folders with small models of music whose values are drawn by chance: a GPT-2, or an
// encoder-decoder for melodies.
#pragma once

#include <memory>
#include <string>

#include "data/music/music_tokens.h"
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

inline Json tiny_accompanist(const Json& more = Json::object()) {
  Json fields{{"kind", "transformer"}, {"width", 32},         {"heads", 2},
              {"hidden", 48},          {"encoder_layers", 1}, {"decoder_layers", 2}};
  fields.update(more);
  return fields;
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
