#include "decode/text/latent_decoding.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "decode/text/beam_search.h"
#include "decode/text/rescore.h"
#include "ops/shape/gather.h"
#include "ops/softmax.h"

namespace heed {
namespace {

// A sequence of codes for one source, and what becomes of it.
struct CodedCandidate {
  std::vector<int32_t> codes;  // of whole latents
  int64_t latents = 0;
  double log_probability = 0.0;  // of the codes
  int64_t steps = 0;
};

class LatentSearch {
 public:
  LatentSearch(const LatentModel& model, std::span<const DecodeRequest> requests,
               const DecodeOptions& options);
  std::vector<std::vector<Hypothesis>> run();

 private:
  std::vector<DecodeRequest> code_requests() const;
  void search_codes();
  // What all candidates say if each has `most` latents at most.
  TopK pass(int64_t most) const;
  std::vector<int32_t> ids_of(const TopK& said, size_t row, int64_t latents,
                              double* log_probability) const;
  Hypothesis hypothesis_of(const TopK& said, size_t row) const;

  const LatentModel& model_;
  LatentModel::Sizes sizes_;
  std::span<const DecodeRequest> requests_;
  const DecodeOptions& options_;
  SourceBatch batch_;
  LatentModel::Encoded sources_;
  std::vector<CodedCandidate> candidates_;  // `beam` for each request, next to each other
};

LatentSearch::LatentSearch(const LatentModel& model, std::span<const DecodeRequest> requests,
                           const DecodeOptions& options)
    : model_(model),
      sizes_(model.sizes()),
      requests_(requests),
      options_(options),
      batch_(source_batch(model, requests, options)),
      sources_(model.encode(batch_.ids, batch_.lengths)) {
  check(options.n_best >= 1 && options.n_best <= options.beam,
        "[decode] n_best is {}, expected 1 to {}, the beam", options.n_best, options.beam);
}

// A source may have as many latents as its longest translation needs: one whose codes never end
// would otherwise hold up a whole batch.
std::vector<DecodeRequest> LatentSearch::code_requests() const {
  std::vector<DecodeRequest> requests(requests_.begin(), requests_.end());
  for (DecodeRequest& request : requests) {
    const int64_t tokens = length_limit(request, options_, model_);
    request.max_length = (tokens + sizes_.shorten - 1) / sizes_.shorten * sizes_.slices;
  }
  return requests;
}

// If fewer sequences of codes were found than wanted, the best one comes again.
void LatentSearch::search_codes() {
  const auto end = static_cast<int32_t>(sizes_.codes);
  const DecodeOptions options{.beam = options_.beam,
                              .length_penalty = options_.length_penalty,
                              .n_best = options_.beam,
                              .forced_length = options_.forced_length,
                              .special = {.pad = -1, .start = end, .end = end, .unk = -1}};
  const auto found = beam_search(*model_.prior(sources_), code_requests(), options);
  for (const std::vector<Hypothesis>& sequences : found) {
    for (int64_t k = 0; k < options_.beam; ++k) {
      const Hypothesis& codes = sequences[k < std::ssize(sequences) ? static_cast<size_t>(k) : 0];
      const int64_t latents = (std::ssize(codes.ids) + sizes_.slices - 1) / sizes_.slices;
      CodedCandidate candidate{.codes = codes.ids,
                               .latents = std::max<int64_t>(latents, 1),
                               .log_probability = codes.log_probability,
                               .steps = (codes.steps + sizes_.slices - 1) / sizes_.slices};
      candidate.codes.resize(static_cast<size_t>(candidate.latents * sizes_.slices), 0);
      candidates_.push_back(std::move(candidate));
    }
  }
}

TopK LatentSearch::pass(int64_t most) const {
  const auto rows = std::ssize(candidates_);
  int64_t width = 1;
  std::vector<int32_t> latents;
  for (const CodedCandidate& candidate : candidates_) {
    latents.push_back(static_cast<int32_t>(std::min(candidate.latents, most)));
    width = std::max<int64_t>(width, latents.back());
  }
  std::vector<int32_t> codes(static_cast<size_t>(rows * width * sizes_.slices), 0);
  for (size_t row = 0; row < candidates_.size(); ++row) {
    std::copy_n(candidates_[row].codes.begin(), latents[row] * sizes_.slices,
                codes.begin() + static_cast<int64_t>(row) * width * sizes_.slices);
  }
  const Tensor logits = model_
                            .logits(Tensor::from_ints(codes, {rows, width, sizes_.slices}),
                                    Tensor::from_ints(latents, {rows}), sources_)
                            .to(DType::f32);  // [R,T,V]
  forbid_tokens(options_, logits);
  for (int64_t at = end_of(options_); options_.forced_length && at < logits.size();
       at += logits.dim(2)) {
    logits.data<float>()[at] = -std::numeric_limits<float>::infinity();
  }
  return top_k(log_softmax(logits), 1);  // [R,T,1]
}

// The tokens of a row of `latents` latents up to END, as many as the request may have, and their
// log-probability. Positions that do not know of each other often say the same word twice: one of
// them is left out.
std::vector<int32_t> LatentSearch::ids_of(const TopK& said, size_t row, int64_t latents,
                                          double* log_probability) const {
  const int64_t limit =
      length_limit(requests_[row / static_cast<size_t>(options_.beam)], options_, model_);
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < latents * sizes_.shorten && std::ssize(ids) < limit; ++t) {
    const int64_t at = static_cast<int64_t>(row) * said.values.dim(1) + t;
    const int32_t id = said.indices.data<int32_t>()[at];
    *log_probability += said.values.data<float>()[at];
    if (id == end_of(options_)) {
      break;
    }
    if (options_.forced_length || ids.empty() || ids.back() != id) {
      ids.push_back(id);
    }
  }
  return ids;
}

Hypothesis LatentSearch::hypothesis_of(const TopK& said, size_t row) const {
  const CodedCandidate& candidate = candidates_[row];
  Hypothesis result{.ids = {}, .log_probability = candidate.log_probability};
  result.ids = ids_of(said, row, candidate.latents, &result.log_probability);
  result.score =
      result.log_probability / length_penalty(std::ssize(result.ids) + 1, options_.length_penalty);
  result.steps = candidate.steps + 1;
  return result;
}

std::vector<std::vector<Hypothesis>> LatentSearch::run() {
  search_codes();
  const auto most = std::max_element(
      candidates_.begin(), candidates_.end(),
      [](const CodedCandidate& a, const CodedCandidate& b) { return a.latents < b.latents; });
  const TopK said = pass(most->latents);
  std::vector<std::vector<Hypothesis>> results(requests_.size());
  for (size_t row = 0; row < candidates_.size(); ++row) {
    results[row / static_cast<size_t>(options_.beam)].push_back(hypothesis_of(said, row));
  }
  for (int64_t latents = 1; options_.trace && latents <= most->latents; ++latents) {
    const TopK so_far = pass(latents);
    for (size_t row = 0; row < candidates_.size(); ++row) {
      if (latents <= candidates_[row].latents) {
        double ignored = 0.0;
        results[row / static_cast<size_t>(options_.beam)][row % static_cast<size_t>(options_.beam)]
            .trace.push_back(ids_of(so_far, row, latents, &ignored));
      }
    }
  }
  if (options_.rescorer != nullptr) {
    rescore(*options_.rescorer, requests_, options_, results);
  }
  for (std::vector<Hypothesis>& found : results) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    found.resize(static_cast<size_t>(options_.n_best));
  }
  return results;
}

}  // namespace

std::vector<std::vector<Hypothesis>> decode_latents(const LatentModel& model,
                                                    std::span<const DecodeRequest> requests,
                                                    const DecodeOptions& options) {
  return LatentSearch(model, requests, options).run();
}

}  // namespace heed
