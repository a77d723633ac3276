#include "tasks/text_setup.h"

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

VocabularySizes sizes_for(const Tokenizers& tokenizers) {
  // Rounded up, so that the output product has whole vectors; the surplus is never said.
  constexpr int64_t kMultiple = 16;
  const auto rounded = [](const Tokenizer& tokenizer) {
    return (tokenizer.size() + kMultiple - 1) / kMultiple * kMultiple;
  };
  return {.source = rounded(*tokenizers.source),
          .target = rounded(*tokenizers.target),
          .joint = tokenizers.joint()};
}

// The tokenizer that is given instead of one that is trained here, or nothing.
std::optional<Tokenizers> given_tokenizers(const TextSetup& setup) {
  const std::string& from = setup.recipe.train.from;
  const std::string& given = from.empty() ? setup.text.folder : from;
  return given.empty() ? std::nullopt : std::optional(load_tokenizers(given));
}

std::shared_ptr<const Tokenizer> trained_tokenizer(const TextSetup& setup,
                                                   const std::vector<std::string>& lines) {
  using Clock = std::chrono::steady_clock;
  setup.task.note(fmt::format("training the tokenizer ({}, at most {} tokens) on {} lines",
                              setup.text.kind, setup.text.vocabulary, lines.size()));
  const auto begin = Clock::now();
  auto tokenizer = train_tokenizer(lines, training_options(setup.text));
  setup.task.note(fmt::format("the tokenizer has {} tokens after {:.1f} s", tokenizer->size(),
                              std::chrono::duration<double>(Clock::now() - begin).count()));
  return tokenizer;
}

Tokenizers trained_pair_tokenizers(const TextSetup& setup, bool joint,
                                   const std::vector<PairFiles>& files) {
  setup.task.note("reading text for the tokenizer");
  std::vector<std::string> source = sample_lines(files, true, setup.text.sample);
  const std::vector<std::string> target = sample_lines(files, false, setup.text.sample);
  if (!joint) {
    return {trained_tokenizer(setup, source), trained_tokenizer(setup, target)};
  }
  source.insert(source.end(), target.begin(), target.end());
  const auto both = trained_tokenizer(setup, source);
  return {both, both};
}

// The run folder's tokenizers, or those that are given, or what `train` makes; kept there.
template <typename Train>
Tokenizers prepare(const TextSetup& setup, const Train& train) {
  const std::filesystem::path& folder = setup.task.folder;
  if (has_tokenizers(folder)) {
    return load_tokenizers(folder);
  }
  const std::optional<Tokenizers> given = given_tokenizers(setup);
  const Tokenizers tokenizers = given ? *given : train();
  save_tokenizers(folder, tokenizers);
  return tokenizers;
}

}  // namespace

Tokenizers prepare_text_tokenizer(const TextSetup& setup, const ReadLines& lines) {
  return prepare(setup, [&]() -> Tokenizers {
    setup.task.note("reading text for the tokenizer");
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
  const Json model = load_config(recipe.train.from).model;
  const std::string found = model_spec(model).kind;
  const std::string wanted = model_spec(recipe.model).kind;
  check(found == wanted, "[train] {} is a \"{}\", the recipe wants a \"{}\"", recipe.train.from,
        found, wanted);
  return with_dropout_of(model, recipe.model);
}

}  // namespace heed
