#include "models/language/decomposable_attention.h"

#include <algorithm>

#include "base/error.h"
#include "ops/attention/attention.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

enum class Sees { own_sentence, other_sentence };

// The sentences of one row. Of a text alone all words belong to both.
class PairRow {
 public:
  PairRow(const TextBatch& batch, int64_t row)
      : types_(batch.types.defined() ? batch.types.data<int32_t>() + row * batch.tokens.dim(1)
                                     : nullptr),
        length_(batch.lengths.data<int32_t>()[row]) {
    bool has[2] = {false, false};
    for (int64_t i = 0; i < length_; ++i) {
      has[type(i)] = true;
    }
    alone_ = !(has[0] && has[1]);
  }
  int64_t length() const { return length_; }
  bool belongs(int64_t i, int sentence) const { return alone_ || type(i) == sentence; }
  bool sees(int64_t i, int64_t j, Sees which) const {
    return alone_ || (type(i) == type(j)) == (which == Sees::own_sentence);
  }

 private:
  int type(int64_t i) const { return types_ != nullptr && types_[i] != 0 ? 1 : 0; }

  const int32_t* types_;
  int64_t length_;
  bool alone_ = true;
};

// Which word sees which, i8 [B,T,T]. Padding sees nothing and is not seen.
Tensor sight_of(const TextBatch& batch, Sees which) {
  const int64_t rows = batch.tokens.dim(0);
  const int64_t width = batch.tokens.dim(1);
  Tensor mask = Tensor::zeros({rows, width, width}, DType::i8);
  for (int64_t row = 0; row < rows; ++row) {
    const PairRow pair(batch, row);
    for (int64_t i = 0; i < pair.length(); ++i) {
      int8_t* sees = mask.data<int8_t>() + (row * width + i) * width;
      for (int64_t j = 0; j < pair.length(); ++j) {
        sees[j] = pair.sees(i, j, which) ? 1 : 0;
      }
    }
  }
  return mask;
}

// 1 for the words of one sentence, 0 for those of the other and for padding, as hidden [B,T,C].
Tensor words_of(const TextBatch& batch, int sentence, const Tensor& hidden) {
  Tensor counts = Tensor::zeros(hidden.shape());
  const int64_t columns = hidden.dim(2);
  for (int64_t row = 0; row < hidden.dim(0); ++row) {
    const PairRow pair(batch, row);
    for (int64_t i = 0; i < pair.length(); ++i) {
      if (pair.belongs(i, sentence)) {
        std::fill_n(counts.data<float>() + (row * hidden.dim(1) + i) * columns, columns, 1.0F);
      }
    }
  }
  return cast(counts, hidden.dtype());
}

Tensor places_of(const TextBatch& batch) {
  Tensor places = Tensor::zeros(batch.tokens.shape(), DType::i32);  // [B,T]
  for (int64_t i = 0; i < places.size(); ++i) {
    places.data<int32_t>()[i] = static_cast<int32_t>(i % places.dim(1));
  }
  return places;
}

// Attention with one head of all columns: x and f are [B,T,C]. Queries, keys and values lie side by
// side, as a whole sequence, which has the same bits in any batch.
Tensor attend_to(const Tensor& x, const Tensor& f, AttentionOptions options,
                 const AttentionLabel& label) {
  options.scale = 1.0F;
  options.weights = AttentionScope::open();
  const Tensor qkv = concat({f, f, x}, 2);  // [B,T,3C]
  const AttentionResult result =
      attention_qkv(qkv.reshape({x.dim(0), x.dim(1), 3, 1, x.dim(2)}), options);  // [B,T,1,C]
  AttentionScope::report(label, result.weights);
  return result.y.reshape(x.shape());  // [B,T,C]
}

}  // namespace

DecomposableAttention::Network::Network(const Scope& s, int64_t inputs, int64_t outputs,
                                        float dropout)
    : first_(s / "linear1", inputs, outputs),
      second_(s / "linear2", outputs, outputs),
      dropout_(dropout) {}

Tensor DecomposableAttention::Network::operator()(const Tensor& x) const {
  const Tensor h = first_(dropout(x, dropout_), Activation::relu);  // [..., outputs]
  return second_(dropout(h, dropout_), Activation::relu);           // [..., outputs]
}

DecomposableAttention::DecomposableAttention(const Scope& s,
                                             const DecomposableAttentionConfig& config)
    : config_(config),
      word_(config.embedding * (config.intra_attention ? 2 : 1)),
      tokens_(s / "tokens", config.vocabulary, config.embedding,
              Init::normal(config.initializer_range)),
      attend_(s / "attend", word_, word_, config.dropout),
      compare_(s / "compare", 2 * word_, config.hidden, config.dropout) {
  if (config.intra_attention) {
    intra_.emplace(
        Intra{Network(s / "intra", config.embedding, config.embedding, config.dropout),
              (s / "intra").param("distance", {2 * config.distances + 3}, Init::constant(0.0F))});
  }
  if (config.labels > 0) {
    aggregate_.emplace(s / "aggregate", 2 * config.hidden, config.hidden, config.dropout);
    classes_.emplace(s / "classes", config.hidden, config.labels);
  }
}

Tensor DecomposableAttention::with_own_sentence(const Tensor& x, const TextBatch& batch) const {
  const Tensor f = intra_->f(x);                                   // [B,T,E]
  const Tensor bias = cast(intra_->distance.tensor(), x.dtype());  // [R]
  const Tensor own = attend_to(                                    // [B,T,E]
      x, f,
      {.lengths = batch.lengths,
       .mask = sight_of(batch, Sees::own_sentence),
       .labelled = expand(bias, {x.dim(0), x.dim(1), 1, bias.size()}),  // by j - i
       .labels = places_of(batch)},
      {"encoder", 0});
  return concat({x, own}, 2);  // [B,T,2E]
}

// For each word what it is aligned with in the other sentence: [B,T,C] -> [B,T,C].
Tensor DecomposableAttention::aligned(const Tensor& x, const TextBatch& batch) const {
  return attend_to(x, attend_(x),
                   {.lengths = batch.lengths, .mask = sight_of(batch, Sees::other_sentence)},
                   {"encoder", intra_ ? 1 : 0});
}

Tensor DecomposableAttention::hidden(const TextBatch& batch) const {
  check(batch.tokens.rank() == 2 && batch.tokens.size() > 0,
        "[decomposable attention] tokens is {}, expected [B,T]", batch.tokens.shape());
  Tensor x = tokens_(batch.tokens);  // [B,T,E]
  if (intra_) {
    x = with_own_sentence(x, batch);  // [B,T,2E]
  }
  return compare_(concat({x, aligned(x, batch)}, 2));  // [B,T,C]
}

Tensor DecomposableAttention::summary(const Tensor& hidden, const TextBatch& batch) const {
  const Tensor first = sum(mul(hidden, words_of(batch, 0, hidden)), 1);   // [B,C]
  const Tensor second = sum(mul(hidden, words_of(batch, 1, hidden)), 1);  // [B,C]
  return concat({first, second}, 1);                                      // [B,2C]
}

Tensor DecomposableAttention::classes(const TextBatch& batch) const {
  check(classes_.has_value(),
        "[decomposable attention] this model has no head for classes: train one with a recipe of "
        "task \"classify\"");
  return (*classes_)((*aggregate_)(summary(hidden(batch), batch)));  // [B,K]
}

ModelSpec spec_of(const DecomposableAttentionConfig& config) {
  return {.source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .classes = config.labels,
          .attention = true};
}

void adapt(DecomposableAttentionConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

void adapt(DecomposableAttentionConfig& config, const EncoderHeads& heads) {
  check(!heads.masked && !heads.next,
        "[masked] a decomposable_attention has no head for masked words");
  config.labels = heads.classes;
}

}  // namespace heed
