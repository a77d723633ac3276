#include "tasks/tasks.h"

#include "tasks/accompany_task.h"
#include "tasks/algorithm_task.h"
#include "tasks/blockwise/image_blockwise_task.h"
#include "tasks/blockwise/language_blockwise_task.h"
#include "tasks/blockwise/translate_blockwise_task.h"
#include "tasks/classify_task.h"
#include "tasks/deep/deep_language_task.h"
#include "tasks/image_task.h"
#include "tasks/language_task.h"
#include "tasks/latent_task.h"
#include "tasks/masked_task.h"
#include "tasks/music_task.h"
#include "tasks/parallel_task.h"
#include "tasks/questions/question_task.h"
#include "tasks/similarity_task.h"
#include "tasks/summarise_task.h"
#include "tasks/translate_task.h"

namespace heed {

std::span<const TaskKind> tasks() {
  static const std::vector<TaskKind> all{
      task_kind<TranslateTask>("translate", "to translate sentences", "transformer"),
      task_kind<ParallelTask>("translate_parallel", "to translate all words of a sentence at once",
                              "parallel_transformer"),
      task_kind<TranslateBlockwiseTask>("translate_blockwise",
                                        "to propose several words of a translation at once",
                                        "blockwise_transformer"),
      task_kind<LatentTask>("translate_latent", "to translate through a few discrete codes",
                            "latent_transformer"),
      task_kind<LanguageTask>("language", "to predict the next token of a text", "gpt2"),
      task_kind<LanguageBlockwiseTask>(
          "language_blockwise", "to propose several tokens of a text at once", "blockwise_gpt2"),
      task_kind<DeepLanguageTask>("deep_language",
                                  "to predict characters with the auxiliary losses of deep models",
                                  "character_transformer"),
      task_kind<MaskedTask>("masked", "to predict masked words", "bert"),
      task_kind<ClassifyTask>("classify", "to classify texts, or to score them", "bert"),
      task_kind<SimilarityTask>("similarity", "to tell how similar two texts are", "bert"),
      task_kind<QuestionTask>("questions", "to answer questions about stories",
                              "story_transformer"),
      task_kind<SummariseTask>("summarise", "to summarise texts", "gpt2"),
      task_kind<MusicTask>("music", "to continue music", "music_transformer"),
      task_kind<AccompanyTask>("accompany", "to accompany a melody", "transformer"),
      task_kind<AlgorithmTask>("algorithm", "to compute, from examples", "universal_transformer"),
      task_kind<ImageTask>("image", "to draw images", "image_transformer"),
      task_kind<ImageBlockwiseTask>("image_blockwise",
                                    "to propose several samples of an image at once",
                                    "blockwise_image_transformer"),
  };
  return all;
}

}  // namespace heed
