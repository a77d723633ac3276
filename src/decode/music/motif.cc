#include "decode/music/motif.h"

#include <algorithm>

#include "base/error.h"
#include "data/music/music_tokens.h"
#include "decode/music/music.h"
#include "music/performance.h"

namespace heed {
namespace {

struct Question {
  int64_t place;  // of the note's token
  int32_t token;
};

// Tokens of a piece with START in front, and the notes that are asked for.
struct Shown {
  std::vector<int32_t> tokens;
  std::vector<Question> questions;
};

Shown show(const DemoPiece& piece, int32_t start) {
  Shown shown;
  const std::vector<int32_t> symbols = encode_performance(piece.notes);
  const std::vector<int32_t> tokens = music_tokens(symbols);
  shown.tokens.push_back(start);
  shown.tokens.insert(shown.tokens.end(), tokens.begin(), tokens.end());
  std::vector<bool> asked(piece.notes.size(), false);
  int64_t returns = 0;
  for (const DemoSection& section : piece.sections) {
    if (section.kind != DemoSectionKind::motif || ++returns < 3) {
      continue;
    }
    for (int64_t i = 1; i < section.count; ++i) {
      asked[static_cast<size_t>(section.first + i)] = true;
    }
  }
  size_t note = 0;  // notes come one after the other, as their tokens do
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] >= kNoteOff) {
      continue;
    }
    if (asked[note++]) {
      shown.questions.push_back({static_cast<int64_t>(i) + 1, shown.tokens[i + 1]});
    }
  }
  return shown;
}

}  // namespace

std::vector<MotifBucket> measure_motif(const Loaded<LanguageModel>& model,
                                       const MotifOptions& options) {
  const Tokenizer& tokenizer = *model.tokenizers.target;
  check(music_of(model) == MusicForm::performance,
        "[motif] the model is one of chorales, expected one of performances");
  std::vector<MotifBucket> buckets;
  for (int64_t index = 0; index < options.pieces; ++index) {
    const DemoPiece piece = compose_demo({.seed = options.seed,
                                          .index = static_cast<uint64_t>(index),
                                          .sections = options.sections});
    const Shown shown = show(piece, tokenizer.special().start);
    const auto length = std::ssize(shown.tokens);
    check(model.model->context() == 0 || length <= model.model->context(),
          "[motif] a piece of {} sections has {} tokens, its context is {}; use fewer "
          "--sections",
          options.sections, length, model.model->context());
    const Tensor logits =
        model.model->logits(Tensor::from_ints(shown.tokens, {1, length})).to(DType::f32);
    const int64_t width = logits.dim(2);
    for (const Question& question : shown.questions) {
      const float* row = logits.data<float>() + (question.place - 1) * width;
      const auto bucket = static_cast<size_t>(question.place / options.bucket);
      while (buckets.size() <= bucket) {
        buckets.push_back({.position = std::ssize(buckets) * options.bucket});
      }
      ++buckets[bucket].notes;
      buckets[bucket].right += std::max_element(row, row + width) - row == question.token ? 1 : 0;
    }
  }
  return buckets;
}

}  // namespace heed
