// Answers to questions about stories, and what the model looked at for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/text/stories.h"
#include "data/text/story_batches.h"
#include "models/answering/answering_model.h"
#include "models/folder.h"

namespace heed {

using LoadedAnswerer = Loaded<AnsweringModel>;
// With names for all answers, or an Error.
std::unique_ptr<LoadedAnswerer> load_answerer(const std::filesystem::path& folder,
                                              std::optional<DType> compute);

// Where a batch of the data pipeline meets the model.
StoryBatch to_tensors(const HostStories& stories);

struct AskedQuestion {
  std::vector<std::string> facts;  // oldest first
  std::string question;
};

// What a hop of a memory network, or a layer of a Transformer, looks at: shares that add up to 1.
// Of a layer it is what the question looks at, the mean over the heads.
struct FactAttention {
  int64_t layer = 0;
  std::vector<float> facts;  // oldest first; 0 for those that are too old for the model
  float question = 0.0F;
};

struct Answered {
  size_t best = 0;                   // the likeliest of the folder's labels
  std::vector<float> probabilities;  // of all labels
  std::vector<FactAttention> looks;  // hop by hop, if asked for
  // Steps that each fact and the question were thought about, if asked for and if the model halts.
  std::vector<float> fact_steps;
  float question_steps = 0.0F;
};

// An Error if a sentence is longer than the model reads.
void check_question(const LoadedAnswerer& model, const AskedQuestion& asked);

struct AnswerOptions {
  int64_t batch_tokens = 4096;  // sentences of a batch, padding included
  bool look = false;
};

// In order; each the same whatever else is asked. An unknown word is read as such; a sentence
// longer than the model reads is an Error.
std::vector<Answered> answer(const LoadedAnswerer& model, std::span<const AskedQuestion> questions,
                             const AnswerOptions& options = {});

}  // namespace heed
