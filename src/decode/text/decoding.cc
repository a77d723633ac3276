#include "decode/text/decoding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "decode/text/beam_search.h"
#include "decode/text/blockwise.h"
#include "decode/text/latent_decoding.h"
#include "decode/text/parallel_decoding.h"

namespace heed {
namespace {

// Whether the model has an interface that a way of decoding needs.
template <typename Interface>
bool is(const TranslationModel& model) {
  return dynamic_cast<const Interface*>(&model) != nullptr;
}

// A function that decodes with one interface, as one that takes any model.
template <typename Interface, typename Decode>
DecodeBatch with(Decode decode) {
  return [decode](const TranslationModel& model, std::span<const DecodeRequest> requests,
                  const DecodeOptions& options) {
    return decode(dynamic_cast<const Interface&>(model), requests, options);
  };
}

std::vector<std::vector<Hypothesis>> greedy(const Seq2SeqModel& model,
                                            std::span<const DecodeRequest> requests,
                                            DecodeOptions options) {
  options.beam = 1;
  return beam_search(model, requests, options);
}

int64_t one_row(const DecodeOptions& /*options*/) { return 1; }
int64_t beam_rows(const DecodeOptions& options) { return options.beam; }
int64_t candidate_rows(const DecodeOptions& options) { return options.candidates; }

constexpr const char* kTrainTokenByToken =
    "task = \"translate\", such as recipes/translation/multi30k.toml";
constexpr const char* kTrainBlockwise =
    "task = \"translate_blockwise\", such as recipes/translation/multi30k-blockwise.toml";
constexpr const char* kTrainParallel =
    "task = \"translate_parallel\", such as recipes/translation/multi30k-parallel.toml";
constexpr const char* kTrainRefine =
    "task = \"translate_parallel\" with model.input = \"masked\" or \"refined\", such as "
    "recipes/translation/multi30k-refine.toml";
constexpr const char* kTrainLatent =
    "task = \"translate_latent\", such as recipes/translation/multi30k-latent.toml";

}  // namespace

std::span<const DecodingKind> decodings() {
  static const std::vector<DecodingKind> all{
      {.name = "greedy",
       .help = "the likeliest token at each step",
       .training = kTrainTokenByToken,
       .prefix = true,
       .suppress = true,
       .rows = one_row,
       .can = is<Seq2SeqModel>,
       .decode = with<Seq2SeqModel>(greedy)},
      {.name = "beam",
       .help = "beam search",
       .training = kTrainTokenByToken,
       .prefix = true,
       .n_best = true,
       .suppress = true,
       .rows = beam_rows,
       .can = is<Seq2SeqModel>,
       .decode = with<Seq2SeqModel>(beam_search)},
      {.name = "blockwise",
       .help = "the same as greedy, several tokens in each step",
       .training = kTrainBlockwise,
       .prefix = true,
       .suppress = true,
       .rows = one_row,
       .can = can_decode_blockwise,
       .decode = with<Seq2SeqModel>(decode_blockwise),
       .check = check_blockwise},
      {.name = "parallel",
       .help = "all tokens in one pass",
       .training = kTrainParallel,
       .n_best = true,
       .rows = candidate_rows,
       .can = is<ParallelModel>,
       .decode = with<ParallelModel>(decode_in_one_pass)},
      {.name = "refine",
       .help = "all tokens at once, improved in a few passes",
       .training = kTrainRefine,
       .n_best = true,
       .rows = candidate_rows,
       .can = can_refine,
       .decode = with<ParallelModel>(decode_by_refinement)},
      {.name = "latent",
       .help = "a few codes one after the other, then all tokens in one pass",
       .training = kTrainLatent,
       .n_best = true,
       .rows = beam_rows,
       .can = is<LatentModel>,
       .decode = with<LatentModel>(decode_latents)},
  };
  return all;
}

std::vector<std::string> decoding_names() {
  std::vector<std::string> names;
  for (const DecodingKind& kind : decodings()) {
    names.push_back(kind.name);
  }
  return names;
}

const DecodingKind& decoding_for(const TranslationModel& model, std::string_view name) {
  const DecodingKind* wanted = nullptr;
  std::vector<std::string> possible;
  for (const DecodingKind& kind : decodings()) {
    const bool can = kind.can(model);
    if (can) {
      possible.push_back(kind.name);
    }
    if (name.empty() ? can : kind.name == name) {
      wanted = &kind;
    }
  }
  check(wanted != nullptr, "[decode] decoding is {}, expected one of {}", name,
        fmt::join(name.empty() ? possible : decoding_names(), ", "));
  check(wanted->can(model),
        "[decode] this model was not trained for decoding {}; it can do: {}. A model for {} is "
        "trained "
        "with {}",
        name, fmt::join(possible, ", "), name, wanted->training);
  return *wanted;
}

void check_decoding(const TranslationModel& model, const DecodingKind& kind,
                    const DecodeOptions& options) {
  check(kind.n_best || options.n_best == 1,
        "[decode] n_best is {}, expected 1: decoding {} finds one translation", options.n_best,
        kind.name);
  check(kind.suppress || options.suppress.empty(),
        "[decode] decoding {} cannot suppress texts: a token does not know its neighbours",
        kind.name);
  check(options.rescorer == nullptr || kind.name == "parallel" || kind.name == "refine" ||
            kind.name == "latent",
        "[decode] decoding {} has no candidates to rescore, expected parallel, refine or latent",
        kind.name);
  if (kind.check) {
    kind.check(model, options);
  }
}

SourceBatch source_batch(const TranslationModel& model, std::span<const DecodeRequest> requests,
                         const DecodeOptions& options) {
  const auto count = static_cast<int64_t>(requests.size());
  int64_t width = 1;
  for (const DecodeRequest& request : requests) {
    check(!request.source.empty(), "[decode] a source without tokens");
    width = std::max(width, std::ssize(request.source));
    for (const int32_t id : request.prefix) {
      check(id >= 0 && id < model.target_vocabulary(),
            "[decode] a prefix has the id {}, expected 0 to {}", id, model.target_vocabulary() - 1);
    }
  }
  std::vector<int32_t> source(static_cast<size_t>(count * width), std::max(options.special.pad, 0));
  std::vector<int32_t> lengths;
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::vector<int32_t>& ids = requests[i].source;
    std::copy(ids.begin(), ids.end(), source.begin() + static_cast<int64_t>(i) * width);
    lengths.push_back(static_cast<int32_t>(ids.size()));
  }
  return {Tensor::from_ints(source, {count, width}), Tensor::from_ints(lengths, {count})};
}

int64_t length_limit(const DecodeRequest& request, const DecodeOptions& options,
                     const TranslationModel& model) {
  const int64_t longest = model.longest();
  const int64_t prefix = std::ssize(request.prefix);
  check(longest == 0 || prefix <= longest,
        "[decode] a prefix has {} tokens, expected at most {}, the longest output of the model",
        prefix, longest);
  const int64_t wanted = request.max_length > 0   ? request.max_length
                         : options.max_length > 0 ? options.max_length
                                                  : 2 * std::ssize(request.source) + 16;
  return std::max(longest > 0 ? std::min(wanted, longest) : wanted, prefix);
}

void forbid_tokens(const DecodeOptions& options, const Tensor& logits) {
  const int64_t vocabulary = logits.dim(-1);
  std::vector<int64_t> forbidden;
  for (int64_t token = options.vocabulary; token > 0 && token < vocabulary; ++token) {
    forbidden.push_back(token);
  }
  const SpecialIds& special = options.special;
  for (const int32_t token : {special.start, special.pad}) {
    const bool also_end = token == special.start && token == end_of(options);  // as GPT-2 has it
    if (token >= 0 && token < vocabulary && !also_end) {
      forbidden.push_back(token);
    }
  }
  if (const int64_t end = end_of(options); options.forced_length && end < vocabulary) {
    forbidden.push_back(end);
  }
  for (float* row = logits.data<float>(); row < logits.data<float>() + logits.size();
       row += vocabulary) {
    for (const int64_t token : forbidden) {
      row[token] = -std::numeric_limits<float>::infinity();
    }
  }
}

void forbid_after(const DecodeOptions& options, std::span<const int32_t> said,
                  std::span<float> logits) {
  const auto forbid = [&](int32_t token) {
    if (token >= 0 && token < std::ssize(logits)) {
      logits[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
    }
  };
  for (const std::vector<int32_t>& sequence : options.suppress) {
    const size_t before = sequence.size() - 1;
    if (said.size() >= before && std::equal(sequence.begin(), sequence.end() - 1,
                                            said.end() - static_cast<int64_t>(before))) {
      forbid(sequence.back());
    }
  }
}

double length_penalty(int64_t length, float alpha) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, double{alpha});
}

std::vector<std::vector<Hypothesis>> decode_batch(const TranslationModel& model,
                                                  std::span<const DecodeRequest> requests,
                                                  const DecodeOptions& options) {
  const DecodingKind& kind = decoding_for(model, options.decoding);
  check_decoding(model, kind, options);
  for (const DecodeRequest& request : requests) {
    check(kind.prefix || request.prefix.empty(),
          "[decode] decoding {} cannot force a translation to begin with a prefix: it does not go "
          "from left to right",
          kind.name);
  }
  return requests.empty() ? std::vector<std::vector<Hypothesis>>()
                          : kind.decode(model, requests, options);
}

std::vector<std::vector<Hypothesis>> decode_all(const TranslationModel& model,
                                                std::span<const DecodeRequest> requests,
                                                const DecodeOptions& options, int64_t batch_tokens,
                                                const OnDecoded& on_decoded) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return requests[a].source.size() > requests[b].source.size();
  });
  const auto tokens_of = [&](size_t first, size_t last) {
    size_t tokens = 0;
    for (size_t i = first; i < last; ++i) {
      tokens += requests[order[i]].source.size();
    }
    return static_cast<double>(tokens);
  };
  const auto rows_each = static_cast<size_t>(decoding_for(model, options.decoding).rows(options));
  const double all_tokens = tokens_of(0, order.size());
  double done_tokens = 0.0;
  std::vector<std::vector<Hypothesis>> results(requests.size());
  for (size_t begin = 0; begin < order.size();) {
    const size_t width = requests[order[begin]].source.size() * rows_each;
    const size_t rows =
        std::max<size_t>(1, static_cast<size_t>(batch_tokens) / std::max<size_t>(width, 1));
    const size_t end = std::min(order.size(), begin + rows);
    std::vector<DecodeRequest> batch;
    for (size_t i = begin; i < end; ++i) {
      batch.push_back(requests[order[i]]);
    }
    std::vector<std::vector<Hypothesis>> decoded = decode_batch(model, batch, options);
    for (size_t i = begin; i < end; ++i) {
      results[order[i]] = std::move(decoded[i - begin]);
    }
    done_tokens += tokens_of(begin, end);
    if (on_decoded) {
      on_decoded(done_tokens / all_tokens);
    }
    begin = end;
  }
  return results;
}

}  // namespace heed
