#include "tasks/tasks.h"

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

std::span<const TaskKind> tasks() {
  static const std::vector<TaskKind> all{
      task_kind<TranslateTask>("translate", "to translate sentences", "transformer"),
      task_kind<LanguageTask>("language", "to say what comes next in a text", "gpt2"),
      task_kind<MaskedTask>("masked", "to fill in masked words", "bert"),
      task_kind<ClassifyTask>("classify", "to classify texts, or to score them", "bert"),
      task_kind<SimilarityTask>("similarity", "to tell how similar two texts are", "bert"),
      task_kind<SummariseTask>("summarise", "to summarise texts", "gpt2"),
      task_kind<MusicTask>("music", "to continue music", "music_transformer"),
      task_kind<AccompanyTask>("accompany", "to accompany a melody", "transformer"),
      task_kind<ImageTask>("image", "to draw images", "image_transformer"),
  };
  return all;
}

}  // namespace heed
