#include "tasks/setup/text_setup.h"

#include <chrono>

#include "base/error.h"

namespace heed {
namespace {

TokenizerTraining training_options(const TextConfig& text) {
  return {.kind = text.kind,
          .vocabulary = static_cast<int32_t>(text.vocabulary),
          .character_coverage = text.character_coverage,
          .lower_case = text.lower_case};
}

std::vector<std::string> sample_lines(const std::vector<PairFiles>& files, bool source,
                                      int64_t most) {
  TextPairs pairs(files);
  TextPair pair;
  std::vector<std::string> lines;
  while (static_cast<int64_t>(lines.size()) < most && pairs.next(pair)) {
    lines.push_back(source ? pair.source : pair.target);
  }
  return lines;
}

// Rounded up, so that the output product has whole vectors; the surplus is never said.
int64_t rounded(int64_t tokens) {
  constexpr int64_t kMultiple = 16;
  return (tokens + kMultiple - 1) / kMultiple * kMultiple;
}

VocabularySizes sizes_for(const Tokenizers& tokenizers) {
  return {.source = rounded(tokenizers.source->size()),
          .target = rounded(tokenizers.target->size()),
          .joint = tokenizers.joint()};
}

// The tokenizer that is given instead of one that is trained here, or nothing.
std::optional<Tokenizers> given_tokenizers(const Recipe& recipe, const TextConfig& text) {
  const std::string& from = recipe.train.from;
  const std::string& given = from.empty() ? text.folder : from;
  return given.empty() ? std::nullopt : std::optional(load_tokenizers(given));
}

std::shared_ptr<const Tokenizer> trained_tokenizer(const TextSetup& setup,
                                                   const std::vector<std::string>& lines) {
  using Clock = std::chrono::steady_clock;
  setup.task.doing(fmt::format("training the tokenizer ({}, at most {} tokens) on {} lines",
                               setup.text.kind, setup.text.vocabulary, lines.size()));
  const auto begin = Clock::now();
  auto tokenizer = train_tokenizer(lines, training_options(setup.text));
  setup.task.note(fmt::format("the tokenizer has {} tokens after {:.1f} s", tokenizer->size(),
                              std::chrono::duration<double>(Clock::now() - begin).count()));
  return tokenizer;
}

Tokenizers trained_pair_tokenizers(const TextSetup& setup, bool joint,
                                   const std::vector<PairFiles>& files) {
  setup.task.doing("reading text for the tokenizer");
  std::vector<std::string> source = sample_lines(files, true, setup.text.sample);
  const std::vector<std::string> target = sample_lines(files, false, setup.text.sample);
  if (!joint) {
    return {trained_tokenizer(setup, source), trained_tokenizer(setup, target)};
  }
  source.insert(source.end(), target.begin(), target.end());
  const auto both = trained_tokenizer(setup, source);
  return {both, both};
}

// The run's tokenizers, or those that are given, or what `train` makes.
template <typename Train>
Tokenizers prepare(const TextSetup& setup, const Train& train) {
  if (setup.task.resumed && has_tokenizers(setup.task.folder)) {
    return load_tokenizers(setup.task.folder);
  }
  const std::optional<Tokenizers> given = given_tokenizers(setup.recipe, setup.text);
  return given ? *given : train();
}

}  // namespace

Tokenizers prepare_text_tokenizer(const TextSetup& setup, const ReadLines& lines) {
  return prepare(setup, [&]() -> Tokenizers {
    setup.task.doing("reading text for the tokenizer");
    std::vector<std::string> sample = lines();
    sample.resize(std::min(sample.size(), static_cast<size_t>(setup.text.sample)));
    const auto tokenizer = trained_tokenizer(setup, sample);
    return {tokenizer, tokenizer};
  });
}

Tokenizers prepare_pair_tokenizers(const TextSetup& setup, bool joint,
                                   const std::vector<PairFiles>& files) {
  return prepare(setup, [&] { return trained_pair_tokenizers(setup, joint, files); });
}

Json model_to_train(const Recipe& recipe, const Tokenizers& tokenizers) {
  if (recipe.train.from.empty()) {
    return with_vocabularies(recipe.model, sizes_for(tokenizers));
  }
  return begun_with(recipe.model, load_config(recipe.train.from).model, recipe.train.from);
}

Json planned_model(const Recipe& recipe, const TextConfig& text, bool joint) {
  if (const std::optional<Tokenizers> given = given_tokenizers(recipe, text)) {
    return model_to_train(recipe, *given);
  }
  const int64_t size = rounded(text.vocabulary);
  return with_vocabularies(recipe.model, {.source = size, .target = size, .joint = joint});
}

}  // namespace heed
