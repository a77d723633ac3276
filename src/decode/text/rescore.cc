#include "decode/text/rescore.h"

#include <algorithm>

#include "base/error.h"
#include "base/ignore.h"
#include "ops/softmax.h"

namespace heed {
namespace {

// START and the hypothesis in, the hypothesis and END out, one row for each hypothesis.
struct TargetRows {
  std::vector<int32_t> input;
  std::vector<int32_t> target;
  std::vector<int32_t> lengths;
  int64_t width = 1;
};

TargetRows target_rows(std::span<const std::vector<Hypothesis>> hypotheses,
                       const DecodeOptions& options) {
  TargetRows rows;
  for (const std::vector<Hypothesis>& of_source : hypotheses) {
    for (const Hypothesis& hypothesis : of_source) {
      rows.lengths.push_back(static_cast<int32_t>(hypothesis.ids.size()) + 1);
      rows.width = std::max<int64_t>(rows.width, rows.lengths.back());
    }
  }
  const size_t size = rows.lengths.size() * static_cast<size_t>(rows.width);
  rows.input.assign(size, std::max(options.special.pad, 0));
  rows.target.assign(size, kIgnore);
  auto at = int64_t{0};
  for (const std::vector<Hypothesis>& of_source : hypotheses) {
    for (const Hypothesis& hypothesis : of_source) {
      const std::vector<int32_t>& ids = hypothesis.ids;
      rows.input[static_cast<size_t>(at)] = options.special.start;
      std::copy(ids.begin(), ids.end(), rows.input.begin() + at + 1);
      std::copy(ids.begin(), ids.end(), rows.target.begin() + at);
      rows.target[static_cast<size_t>(at + std::ssize(ids))] = end_of(options);
      at += rows.width;
    }
  }
  return rows;
}

}  // namespace

void rescore(const Seq2SeqModel& model, std::span<const DecodeRequest> requests,
             const DecodeOptions& options, std::span<std::vector<Hypothesis>> hypotheses) {
  check(requests.size() == hypotheses.size(),
        "[rescore] there are {} sources and hypotheses of {}, expected as many", requests.size(),
        hypotheses.size());
  std::vector<DecodeRequest> repeated;
  for (size_t i = 0; i < requests.size(); ++i) {
    repeated.insert(repeated.end(), hypotheses[i].size(), requests[i]);
  }
  if (repeated.empty()) {
    return;
  }
  const SourceBatch sources = source_batch(model, repeated, options);
  const TargetRows rows = target_rows(hypotheses, options);
  const Shape shape{std::ssize(repeated), rows.width};
  const Tensor logits = model
                            .logits({.source = sources.ids,
                                     .source_lengths = sources.lengths,
                                     .input = Tensor::from_ints(rows.input, shape),
                                     .target = Tensor::from_ints(rows.target, shape),
                                     .target_lengths = Tensor::from_ints(rows.lengths, {shape[0]})})
                            .to(DType::f32);  // [R,T,V]
  forbid_tokens(options, logits);
  const Tensor scores = log_softmax(logits);  // [R,T,V]
  const int64_t vocabulary = scores.dim(2);
  int64_t row = 0;
  for (std::vector<Hypothesis>& of_source : hypotheses) {
    for (Hypothesis& hypothesis : of_source) {
      const int64_t length = rows.lengths[static_cast<size_t>(row)];
      hypothesis.log_probability = 0.0;
      for (int64_t t = 0; t < length; ++t) {
        const int64_t at = row * rows.width + t;
        hypothesis.log_probability +=
            scores.data<float>()[at * vocabulary + rows.target[static_cast<size_t>(at)]];
      }
      hypothesis.score =
          hypothesis.log_probability / length_penalty(length, options.length_penalty);
      ++row;
    }
  }
}

std::unique_ptr<LoadedModel> load_rescorer(const std::filesystem::path& folder,
                                           std::optional<DType> compute,
                                           const LoadedTranslator& judged) {
  auto rescorer = load_model(folder, compute);
  for (const auto side : {&Tokenizers::source, &Tokenizers::target}) {
    check(same_tokenizer(*(judged.tokenizers.*side), *(rescorer->tokenizers.*side)),
          "[rescore] {} and the model that it rescores have different tokenizers, expected the "
          "same: train one with train.from or text.folder set to the other",
          folder.string());
  }
  return rescorer;
}

}  // namespace heed
