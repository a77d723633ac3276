#include "train/task.h"

#include "tasks/accompany_task.h"
#include "tasks/classify_task.h"
#include "tasks/image_task.h"
#include "tasks/language_task.h"
#include "tasks/masked_task.h"
#include "tasks/music_task.h"
#include "tasks/similarity_task.h"
#include "tasks/summarise_task.h"
#include "tasks/translate_task.h"

namespace heed {

std::unique_ptr<Task> make_task(const Recipe& recipe, const std::filesystem::path& folder,
                                const Scope& scope) {
  if (recipe.task == "language") {
    return std::make_unique<LanguageTask>(recipe, folder, scope);
  }
  if (recipe.task == "masked") {
    return std::make_unique<MaskedTask>(recipe, folder, scope);
  }
  if (recipe.task == "classify") {
    return std::make_unique<ClassifyTask>(recipe, folder, scope);
  }
  if (recipe.task == "similarity") {
    return std::make_unique<SimilarityTask>(recipe, folder, scope);
  }
  if (recipe.task == "summarise") {
    return std::make_unique<SummariseTask>(recipe, folder, scope);
  }
  if (recipe.task == "music") {
    return std::make_unique<MusicTask>(recipe, folder, scope);
  }
  if (recipe.task == "accompany") {
    return std::make_unique<AccompanyTask>(recipe, folder, scope);
  }
  if (recipe.task == "image") {
    return std::make_unique<ImageTask>(recipe, folder, scope);
  }
  return std::make_unique<TranslateTask>(recipe, folder, scope);
}

}  // namespace heed
