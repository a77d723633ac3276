#include "tasks/pair_task.h"

#include <algorithm>

#include "base/error.h"
#include "data/batch_size.h"
#include "data/demo/demo_files.h"
#include "data/text/examples.h"
#include "tasks/setup/training_lines.h"

namespace heed {
namespace {

// With the files of a built-in corpus, which are written into the run folder, so that what follows
// sees files in any case.
PairDataConfig with_builtin_files(const PairDataConfig& data, const std::filesystem::path& folder) {
  if (data.builtin.empty()) {
    return data;
  }
  const std::filesystem::path files = folder / "data";
  PairDataConfig result = data;
  result.source = {(files / "train.en").string()};
  result.target = {(files / "train.it").string()};
  result.valid_source = (files / "valid.en").string();
  result.valid_target = (files / "valid.it").string();
  result.test_source = (files / "test.en").string();
  result.test_target = (files / "test.it").string();
  result.source_language = "en";
  result.target_language = "it";
  if (!std::filesystem::exists(result.test_target)) {
    write_demo_corpus(make_demo_corpus(), files);
  }
  return result;
}

std::vector<PairFiles> pair_files(const PairDataConfig& data) {
  std::vector<PairFiles> files;
  for (const std::string& tsv : data.tsv) {
    files.push_back({tsv, {}});
  }
  for (size_t i = 0; i < data.source.size(); ++i) {
    files.push_back({data.source[i], data.target[i]});
  }
  return files;
}

// The code that is given, or an extension of two letters of the first file: de for train.de.gz.
std::string language_of(const std::string& given, const std::vector<std::string>& files) {
  if (!given.empty() || files.empty()) {
    return given;
  }
  std::filesystem::path file(files.front());
  if (file.extension() == ".gz") {
    file.replace_extension();
  }
  const std::string code = file.extension().string();
  const bool two_letters =
      code.size() == 3 &&
      std::all_of(code.begin() + 1, code.end(), [](char c) { return 'a' <= c && c <= 'z'; });
  return two_letters ? code.substr(1) : "";
}

// Sources of the training pairs, for examples if no pairs are held out.
std::vector<std::string> first_sources(const std::vector<PairFiles>& files) {
  constexpr size_t kEnough = 1000;
  TextPairs pairs(files);
  std::vector<std::string> sources;
  for (TextPair pair; sources.size() < kEnough && pairs.next(pair);) {
    sources.push_back(pair.source);
  }
  return sources;
}

}  // namespace

void PairSections::check_recipe(std::string_view where) const {
  const int given =
      (data.builtin.empty() ? 0 : 1) + (data.source.empty() ? 0 : 1) + (data.tsv.empty() ? 0 : 1);
  check(given == 1, "[{}] data needs exactly one of: source and target, tsv, or builtin = \"demo\"",
        where);
  check(data.source.size() == data.target.size(),
        "[{}] data.source has {} files and data.target {}, expected as many", where,
        data.source.size(), data.target.size());
  check(data.valid_source.empty() == data.valid_target.empty() &&
            data.test_source.empty() == data.test_target.empty(),
        "[{}] valid_source and valid_target belong together, and so do the test files", where);
  check_batch_tokens(data.batch_tokens, data.max_length);
}

PairTask::PairTask(const Recipe& recipe, const TaskSetup& setup, PairSections sections)
    : Task(recipe), sections_(std::move(sections)) {
  PairDataConfig& data = sections_.data;
  data = with_builtin_files(data, setup.folder);
  const PairTextConfig& text = sections_.text;
  tokenizers_ = prepare_pair_tokenizers({recipe, text, setup}, text.joint, pair_files(data));
  config_.content = Content::text;
  config_.source_language = language_of(data.source_language, data.source);
  config_.target_language = language_of(data.target_language, data.target);
  config_.training_lines = measure_training_lines(corpus(), config_.source_language);
}

Corpus PairTask::corpus() const {
  return {.files = pair_files(data()),
          .source = tokenizers_.source,
          .target = tokenizers_.target,
          .max_length = data().max_length};
}

void PairTask::begin(const DataState& state) {
  stream_ = std::make_unique<BatchStream>(corpus(),
                                          BatchOptions{.batch_tokens = data().batch_tokens,
                                                       .source_end = config_.source_end,
                                                       .pool = data().pool,
                                                       .seed = recipe_.train.seed},
                                          state);
  batches_ = std::make_unique<Prefetch<HostBatch>>(
      [this](HostBatch& batch, const std::stop_token& stop) { return stream_->next(batch, stop); });
  if (!data().valid_source.empty()) {
    validation_.emplace(data().valid_source, data().valid_target,
                        ValidationSet::Setting{.tokenizers = tokenizers_,
                                               .source_end = config_.source_end,
                                               .batch_tokens = data().batch_tokens});
  }
  config_.examples =
      pick_examples(validation_ ? validation_->sources() : first_sources(pair_files(data())));
}

std::unique_ptr<TaskBatch> PairTask::next() {
  auto batch = std::make_unique<PairBatch>();
  if (!batches_->next(batch->host)) {
    return nullptr;
  }
  batch->tokens = batch->host.source_tokens + batch->host.target_tokens;
  batch->targets = batch->host.target_tokens;
  batch->after = batch->host.after;
  return batch;
}

std::string PairTask::skipped() const {
  const SkipReport report = stream_->report();
  return report.skipped() > 0 ? report.text() : "";
}

Tensor PairTask::loss(const TaskBatch& batch) const {
  return pair_loss(static_cast<const PairBatch&>(batch).host);
}

HostBatch PairTask::full_batch() const {
  constexpr int64_t kLength = 32;  // of a typical sentence
  const int64_t longest = translator().longest();
  const int64_t width =
      std::min(longest > 0 ? std::min(kLength, longest) : kLength, data().batch_tokens);
  const int64_t rows = std::max<int64_t>(1, data().batch_tokens / width);
  const auto tokens = static_cast<size_t>(rows * width);
  const std::vector<int32_t> lengths(static_cast<size_t>(rows), static_cast<int32_t>(width));
  return {.rows = rows,
          .source_width = width,
          .target_width = width,
          .source = std::vector<int32_t>(tokens, 0),
          .source_lengths = lengths,
          .input = std::vector<int32_t>(tokens, 0),
          .target = std::vector<int32_t>(tokens, 0),
          .target_lengths = lengths,
          .pairs = std::vector<int64_t>(static_cast<size_t>(rows), 0),
          .source_tokens = rows * width,
          .target_tokens = rows * width,
          .epoch = 0,
          .after = {}};
}

DecodeOptions PairTask::validation_decoding() const {
  return {.beam = sections_.validation.beam, .length_penalty = sections_.validation.length_penalty};
}

void PairTask::set_metric(const ValidationScore& found, Score& score) const {
  score.metric = "bleu";
  score.value = found.bleu;
}

Score PairTask::validate(int64_t step) const {
  const TranslationScoreConfig& config = sections_.validation;
  const ValidationScore found = validation_->score(translator(), held_out_loss(translator()),
                                                   {.bleu = config.bleu,
                                                    .sentences = config.sentences,
                                                    .decode = validation_decoding(),
                                                    .batch_tokens = data().batch_tokens});
  Score score{.loss = found.loss};
  if (found.bleu >= 0.0) {
    set_metric(found, score);
  }
  if (!found.translations.empty()) {
    const size_t example = static_cast<size_t>(step) % found.translations.size();
    score.example =
        fmt::format("{} -> {}", validation_->sources()[example], found.translations[example]);
  }
  return score;
}

std::string PairTask::test(const std::filesystem::path& folder) const {
  if (data().test_source.empty()) {
    return "";
  }
  const auto loaded = load_translator(folder, DType::f32);
  const ValidationSet test(data().test_source, data().test_target,
                           {.tokenizers = loaded->tokenizers,
                            .source_end = loaded->config.source_end,
                            .batch_tokens = data().batch_tokens});
  const DecodeOptions decode = test_decoding();
  const ValidationScore score = test.score(*loaded->model, held_out_loss(*loaded->model),
                                           {.decode = decode, .batch_tokens = data().batch_tokens});
  const std::string decoding = decoding_for(*loaded->model, decode.decoding).name;
  return fmt::format(
      "test {}: loss {:.4f} BLEU {:.2f} ({}, nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp)",
      data().test_source, score.loss, score.bleu,
      decoding == "beam" ? fmt::format("beam {}", decode.beam)
      : decoding == "blockwise"
          ? fmt::format("blockwise, {:.2f} tokens a pass", score.passes.mean())
          : decoding);
}

}  // namespace heed
