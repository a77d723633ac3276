// A folder with a small model that answers questions, whose values are drawn by chance.
#pragma once

#include <string>
#include <vector>

#include "data/text/story_set.h"
#include "models/folder.h"
#include "support/text_files.h"

namespace heed::testing {

inline const std::vector<std::string> kStoryFacts{
    "Mary went to the garden.", "John went to the kitchen.", "Mary took the milk.", "John slept."};

struct TinyAnswerer {
  explicit TinyAnswerer(std::vector<std::string> labels = {"garden", "kitchen", "milk"}) {
    SentenceTable table;
    for (const std::string& fact : kStoryFacts) {
      table.number_of(fact);
    }
    const auto words = story_vocabulary(table, {"garden", "kitchen", "milk"});
    FolderConfig config;
    config.labels = std::move(labels);
    config.model = resolve_model_config({{"kind", "story_transformer"},
                                         {"vocabulary", words->size()},
                                         {"answers", 3},
                                         {"width", 16},
                                         {"heads", 2},
                                         {"hidden", 24},
                                         {"layers", 3},
                                         {"memory", 3},
                                         {"sentence", 6}},
                                        "test");
    ParameterStore store;
    const auto any = make_model(store.root(), config.model);
    store.allocate(DType::f32, 5, ParameterStore::Use::batch_invariant);
    save_config(path(), config);
    save_tokenizers(path(), {words, words});
    save_parameters(folder / "model.safetensors", store, config.model);
  }

  std::filesystem::path path() const { return folder / ""; }

  TemporaryFolder folder;
};

}  // namespace heed::testing
