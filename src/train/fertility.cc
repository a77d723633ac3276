#include "train/fertility.h"

#include <algorithm>

#include "base/error.h"
#include "data/batches.h"
#include "nn/scopes/attention_scope.h"
#include "ops/reduce.h"
#include "train/validation.h"

namespace heed {
namespace {

// What the decoder's last layer attends to in the source, averaged over heads.
Tensor last_cross_attention(const Seq2SeqModel& model, const Batch& batch) {
  AttentionScope scope;
  model.logits(batch);
  const std::vector<LayerAttention>& layers = scope.layers();
  const auto last = std::find_if(layers.rbegin(), layers.rend(),
                                 [](const LayerAttention& layer) { return layer.kind == "cross"; });
  check(last != layers.rend(),
        "[fertility] the model has no attention to its source, expected a translator with "
        "attention");
  return mean(last->weights, 1);  // [B,T,S]
}

const Seq2SeqModel& translator_of(const LoadedFolder& model) {
  return model_as<Seq2SeqModel>(*model.any, model.config.model);
}

}  // namespace

bool fits_fertilities(const LoadedFolder& model, const EncodedPair& pair) {
  constexpr int64_t kMost = 1024;
  const int64_t longest = translator_of(model).longest();
  const int64_t most = longest > 0 ? std::min(longest - 1, kMost) : kMost;  // START or END is more
  return std::ssize(pair.source) <= most && std::ssize(pair.target) <= most &&
         (!pair.source.empty() || model.config.source_end);
}

std::vector<std::vector<int64_t>> fertilities(const LoadedFolder& model,
                                              std::span<const EncodedPair> pairs,
                                              int64_t batch_tokens) {
  std::vector<std::vector<int64_t>> counts(pairs.size());
  const std::vector<HostBatch> batches =
      make_batches(pairs, {.batch_tokens = batch_tokens, .source_end = model.config.source_end},
                   model.tokenizers.source->special(), model.tokenizers.target->special());
  for (const HostBatch& host : batches) {
    const Tensor weights = last_cross_attention(translator_of(model), to_tensors(host));  // [B,T,S]
    for (int64_t row = 0; row < host.rows; ++row) {
      const auto at = static_cast<size_t>(row);
      const int64_t source = host.source_lengths[at];
      std::vector<int64_t>& fertility = counts[static_cast<size_t>(host.pairs[at])];
      fertility.assign(static_cast<size_t>(source), 0);
      for (int64_t t = 0; t + 1 < host.target_lengths[at]; ++t) {
        const float* looks =
            weights.data<float>() + (row * weights.dim(1) + t) * weights.dim(2);  // [S]
        ++fertility[static_cast<size_t>(std::max_element(looks, looks + source) - looks)];
      }
    }
  }
  return counts;
}

}  // namespace heed
