#include "train/validation.h"

#include <algorithm>

#include "base/error.h"
#include "data/text/lines.h"
#include "train/loss.h"
#include "train/metrics/bleu.h"

namespace heed {

namespace {

// Filled with the values, as often as they fit.
Tensor repeated(const std::vector<int32_t>& values, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape, DType::i32);
  for (int64_t at = 0; at < tensor.size(); at += std::ssize(values)) {
    std::copy(values.begin(), values.end(), tensor.data<int32_t>() + at);
  }
  return tensor;
}

}  // namespace

Batch to_tensors(const HostBatch& batch, int64_t copies) {
  const int64_t rows = batch.rows * copies;
  return {.source = repeated(batch.source, {rows, batch.source_width}),
          .source_lengths = repeated(batch.source_lengths, {rows}),
          .input = repeated(batch.input, {rows, batch.target_width}),
          .target = repeated(batch.target, {rows, batch.target_width}),
          .target_lengths = repeated(batch.target_lengths, {rows}),
          .source_tokens = batch.source_tokens * copies,
          .target_tokens = batch.target_tokens * copies};
}

double mean_loss(const BatchLoss& loss, const std::vector<HostBatch>& batches) {
  double total = 0.0;
  int64_t tokens = 0;
  for (const HostBatch& batch : batches) {
    total += loss(batch) * static_cast<double>(batch.target_tokens);
    tokens += batch.target_tokens;
  }
  return total / static_cast<double>(std::max<int64_t>(tokens, 1));
}

BatchLoss token_loss(const Seq2SeqModel& model) {
  return [&model](const HostBatch& host) {
    const Batch batch = to_tensors(host);
    return static_cast<double>(
        sequence_loss([&] { return model.logits(batch); }, batch.target, {}).item());
  };
}

ValidationSet::ValidationSet(const std::string& source, const std::string& target,
                             const Setting& setting)
    : setting_(setting), sources_(read_lines(source)), targets_(read_lines(target)) {
  check(sources_.size() == targets_.size(),
        "[validation] {} has {} lines and {} has {}, expected as many", source, sources_.size(),
        target, targets_.size());
  check(!sources_.empty(), "[validation] {} is empty", source);
  prepare();
}

ValidationSet::ValidationSet(std::vector<std::string> sources, std::vector<std::string> targets,
                             const Setting& setting)
    : setting_(setting), sources_(std::move(sources)), targets_(std::move(targets)) {
  prepare();
}

void ValidationSet::prepare() {
  const Tokenizer& source = *setting_.tokenizers.source;
  const Tokenizer& target = *setting_.tokenizers.target;
  std::vector<EncodedPair> pairs;
  for (size_t i = 0; i < sources_.size(); ++i) {
    EncodedPair pair{source.encode(sources_[i]), target.encode(targets_[i]),
                     static_cast<int64_t>(i) + 1};
    DecodeRequest request{pair.source};
    if (setting_.source_end || request.source.empty()) {
      request.source.push_back(source.special().end);
    }
    requests_.push_back(std::move(request));
    if (!pair.source.empty() && !pair.target.empty()) {
      pairs.push_back(std::move(pair));
    }
  }
  batches_ = make_batches(
      pairs, {.batch_tokens = setting_.batch_tokens, .source_end = setting_.source_end},
      source.special(), target.special());
}

std::vector<std::vector<Hypothesis>> ValidationSet::decode(const TranslationModel& model,
                                                           const ValidationOptions& options) const {
  const size_t all = requests_.size();
  const size_t count =
      options.sentences == 0 ? all : std::min(all, static_cast<size_t>(options.sentences));
  DecodeOptions decode = options.decode;
  decode.special = setting_.tokenizers.target->special();
  decode.vocabulary = setting_.tokenizers.target->size();
  decode.n_best = 1;
  return decode_all(model, std::span(requests_).first(count), decode, options.batch_tokens);
}

std::vector<std::string> ValidationSet::texts_of(
    std::span<const std::vector<Hypothesis>> decoded) const {
  std::vector<std::string> texts;
  texts.reserve(decoded.size());
  for (const std::vector<Hypothesis>& best : decoded) {
    texts.push_back(best.empty() ? std::string()
                                 : setting_.tokenizers.target->decode(best.front().ids));
  }
  return texts;
}

std::vector<std::string> ValidationSet::translate(const TranslationModel& model,
                                                  const ValidationOptions& options) const {
  return texts_of(decode(model, options));
}

ValidationScore ValidationSet::score(const TranslationModel& model, const BatchLoss& loss,
                                     const ValidationOptions& options) const {
  ValidationScore score;
  score.loss = mean_loss(loss, batches_);
  if (options.bleu) {
    const std::vector<std::vector<Hypothesis>> decoded = decode(model, options);
    score.translations = texts_of(decoded);
    for (const std::vector<Hypothesis>& best : decoded) {
      score.passes.add(best.front());
    }
    std::vector<std::vector<std::string>> references;
    for (size_t i = 0; i < score.translations.size(); ++i) {
      references.push_back({targets_[i]});
    }
    score.bleu = bleu(score.translations, references).score;
  }
  return score;
}

}  // namespace heed
