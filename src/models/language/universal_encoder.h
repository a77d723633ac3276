// The Universal Transformer's encoder (Dehghani et al. 2018) over texts, with BERT's heads: one
// layer, applied again and again, for a fixed number of steps or until each position halts.
#pragma once

#include "base/config.h"
#include "models/language/text_heads.h"
#include "models/model.h"
#include "models/universal_options.h"

namespace heed {

struct UniversalEncoderConfig : UniversalSizes {
  int64_t vocabulary = 8000;
  int64_t longest = 512;
  int64_t types = 2;
  float head_dropout = 0.1F;
  bool pooler = true;
  bool masked_head = false;
  bool next_head = false;
  int64_t labels = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("longest", longest, "longest text in tokens", {.least = 1, .most = 1 << 20});
    v("types", types, "number of text types: 2 for first and second", {.least = 1, .most = 1024});
    UniversalSizes::fields(v);
    v("head_dropout", head_dropout, "dropout before the classification head",
      {.least = 0, .most = 0.99});
    v("pooler", pooler, "add a dense layer over the first token's vector");
    v("masked_head", masked_head, "add a head that predicts masked words");
    v("next_head", next_head, "add a head that predicts whether the second text follows the first");
    v("labels", labels, "number of classes; 0: no classification head",
      {.least = 0, .most = 1 << 20});
  }
};

class UniversalEncoder : public TextEncoder, public MaskedModel {
 public:
  UniversalEncoder(const Scope& s, const UniversalEncoderConfig& config);

  Tensor hidden(const TextBatch& batch) const override;
  Tensor summary(const Tensor& hidden, const TextBatch& batch) const override;
  Tensor classes(const TextBatch& batch) const override;
  Tensor words(const Tensor& hidden, const Tensor& places) const override;
  Tensor follows(const Tensor& hidden, const TextBatch& batch) const override;

  int64_t width() const override { return config_.width; }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t labels() const override { return config_.labels; }
  int64_t longest() const override { return config_.longest; }

 private:
  Tensor embed(const TextBatch& batch) const;  // [B,T,C]

  UniversalEncoderConfig config_;
  Embedding tokens_;
  Embedding types_;
  UniversalStack stack_;
  TextHeads heads_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const UniversalEncoderConfig& config);
void adapt(UniversalEncoderConfig& config, const VocabularySizes& sizes);
void adapt(UniversalEncoderConfig& config, const EncoderHeads& heads);

}  // namespace heed
