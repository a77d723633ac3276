// Models that answer questions about stories: a few sentences, a question, an answer out of a list.
#pragma once

#include <cstdint>

#include "base/config.h"
#include "models/model.h"
#include "tensor/tensor.h"

namespace heed {

// The first of a vocabulary's words that are answers; those before it are special tokens. So a
// model may say an answer with the vector of the word.
inline constexpr int64_t kFirstAnswer = 4;

// What a model is to choose answers from: models/registry.h.
struct AnswerSizes {
  static constexpr const char* kMissing = "does not answer questions about stories";

  int64_t answers = 0;
};
Json with_answers(const Json& model, const AnswerSizes& sizes);

// B stories. Sentences are listed once, however many stories they occur in.
struct StoryBatch {
  Tensor words;         // i32 [S,W]: the words of each sentence, 0 behind the last one
  Tensor stories;       // i32 [B,T]: sentences: the question, then the facts, the newest first
  Tensor lengths;       // i32 [B]: of stories, the question included
  bool linear = false;  // attention without softmax, with which memory networks begin to learn
};

// Everything of a row depends on its own sentences alone. Inside an AttentionScope it shows what
// each hop ("memory", f32 [B,1,1,T-1]) or layer ("encoder", f32 [B,H,T,T]) attends to.
class AnsweringModel : public Model {
 public:
  static constexpr const char* kWhat = "a model that answers questions about stories";
  static constexpr ModelInterface kInterface = ModelInterface::answering;

  // Scores of the answers, [B,A].
  virtual Tensor answers(const StoryBatch& batch) const = 0;

  virtual int64_t memory() const = 0;   // most facts of a story
  virtual int64_t longest() const = 0;  // most words of a sentence
};

}  // namespace heed
