#include "tasks/translate_task.h"

#include <algorithm>

#include "base/error.h"
#include "data/demo/demo_files.h"
#include "models/registry.h"

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

}  // namespace

void TranslateTask::check_recipe(const Recipe& /*recipe*/, const Config& own,
                                 std::string_view where) {
  const PairDataConfig& data = own.data;
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
  own.train.check_recipe(where);
}

TranslateTask::TranslateTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  own_.data = with_builtin_files(own_.data, setup.folder);
  tokenizers_ =
      prepare_pair_tokenizers({recipe, own_.text, setup}, own_.text.joint, pair_files(own_.data));
  config_.model = model_to_train(recipe_, tokenizers_);
  config_.content = Content::text;
  config_.source_language = language_of(own_.data.source_language, own_.data.source);
  config_.target_language = language_of(own_.data.target_language, own_.data.target);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<Seq2SeqModel>(*any_, config_.model);
}

void TranslateTask::begin(const DataState& state) {
  stream_ = std::make_unique<BatchStream>(Corpus{.files = pair_files(own_.data),
                                                 .source = tokenizers_.source,
                                                 .target = tokenizers_.target,
                                                 .max_length = own_.data.max_length},
                                          BatchOptions{.batch_tokens = own_.data.batch_tokens,
                                                       .source_end = config_.source_end,
                                                       .pool = own_.data.pool,
                                                       .seed = recipe_.train.seed},
                                          state);
  batches_ = std::make_unique<Prefetch<HostBatch>>(
      [this](HostBatch& batch, const std::stop_token& stop) { return stream_->next(batch, stop); });
  if (!own_.data.valid_source.empty()) {
    validation_.emplace(own_.data.valid_source, own_.data.valid_target,
                        ValidationSet::Setting{.tokenizers = tokenizers_,
                                               .source_end = config_.source_end,
                                               .batch_tokens = own_.data.batch_tokens});
  }
}

std::unique_ptr<TaskBatch> TranslateTask::next() {
  auto batch = std::make_unique<PairBatch>();
  if (!batches_->next(batch->host)) {
    return nullptr;
  }
  batch->tokens = batch->host.source_tokens + batch->host.target_tokens;
  batch->targets = batch->host.target_tokens;
  batch->after = batch->host.after;
  return batch;
}

std::string TranslateTask::skipped() const {
  const SkipReport report = stream_->report();
  return report.skipped() > 0 ? report.text() : "";
}

Tensor TranslateTask::loss(const TaskBatch& batch) const {
  const LossConfig config = own_.train.config();
  const Batch tensors = to_tensors(static_cast<const PairBatch&>(batch).host, config.copies());
  return sequence_loss(model_->logits(tensors), tensors.target, config);
}

Tensor TranslateTask::full_batch_loss() const {
  constexpr int64_t kLength = 32;  // of a typical sentence
  const int64_t most = model_->longest() > 0 ? std::min(kLength, model_->longest()) : kLength;
  const int64_t length = std::min(most, own_.data.batch_tokens);
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / length);
  return full_pairs_loss(*model_, rows, length, own_.train.config());
}

Score TranslateTask::validate(int64_t step) const {
  const TranslationScoreConfig& config = own_.validation;
  const ValidationScore found = validation_->score(
      *model_, {.bleu = config.bleu,
                .sentences = config.sentences,
                .decode = {.beam = config.beam, .length_penalty = config.length_penalty},
                .batch_tokens = own_.data.batch_tokens});
  Score score{.loss = found.loss};
  if (found.bleu >= 0.0) {
    score.metric = "bleu";
    score.value = found.bleu;
  }
  if (!found.translations.empty()) {
    const size_t example = static_cast<size_t>(step) % found.translations.size();
    score.example =
        fmt::format("{} -> {}", validation_->sources()[example], found.translations[example]);
  }
  return score;
}

std::string TranslateTask::test(const std::filesystem::path& folder) const {
  const PairDataConfig& data = own_.data;
  if (data.test_source.empty()) {
    return "";
  }
  const auto loaded = load_model(folder, DType::f32);
  const ValidationSet test(data.test_source, data.test_target,
                           {.tokenizers = loaded->tokenizers,
                            .source_end = loaded->config.source_end,
                            .batch_tokens = data.batch_tokens});
  const ValidationScore score =
      test.score(*loaded->model, {.decode = {.beam = 4}, .batch_tokens = data.batch_tokens});
  return fmt::format(
      "test {}: loss {:.4f} BLEU {:.2f} (beam 4, nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp)",
      data.test_source, score.loss, score.bleu);
}

}  // namespace heed
