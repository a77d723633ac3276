// What training, decoding and pictures know about a model. Concrete models stand behind it.
//
// Models that generate are asked in two ways: all positions at once (teacher forcing, `logits`), or
// a few at a time with everything already computed kept in a state (`start`, `step`). Both give the
// same numbers. Texts come in rows, padded, with their lengths. What a model attends to meanwhile,
// an AttentionScope shows (nn/attention_scope.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ignore.h"
#include "models/spec.h"
#include "ops/loss/reduction.h"
#include "tensor/tensor.h"

namespace heed {

// B pairs of sequences, padded to S and T.
struct Batch {
  Tensor source;          // i32 [B,S]
  Tensor source_lengths;  // i32 [B]
  Tensor input;           // i32 [B,T]: START and the target: what the decoder is shown
  Tensor target;          // i32 [B,T]: the target and END: what it learns to say; kIgnore after it
  Tensor target_lengths;  // i32 [B]: of input and target
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;  // that count
};

// What a model remembers between steps of one batch. Each model has its own.
class DecodeState {
 public:
  virtual ~DecodeState() = default;
};

class Model {
 public:
  virtual ~Model() = default;
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
};

class Seq2SeqModel : public Model {
 public:
  static constexpr const char* kWhat = "a sequence-to-sequence model";
  static constexpr ModelInterface kInterface = ModelInterface::translation;

  // Teacher forcing: logits of every target position, [B,T,V].
  virtual Tensor logits(const Batch& batch) const = 0;

  // Begins to decode: source i32 [B,S], lengths i32 [B]. Each source gets `beam` rows, next to each
  // other, so the state has R = B * beam rows, all at position 0.
  virtual std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                             int64_t beam) const = 0;
  // tokens i32 [R], what each row said last (START at first) -> logits of what comes next, [R,V].
  virtual Tensor step(const Tensor& tokens, DecodeState& state) const = 0;
  // Keeps the given sources, in order; row r of the new state continues row rows[r] of the old,
  // which belongs to the same source. rows.size() == sources.size() * beam.
  virtual void select(DecodeState& state, std::span<const int64_t> sources,
                      std::span<const int64_t> rows) const = 0;

  virtual int64_t target_vocabulary() const = 0;
  // Longest sequence it can be shown, or 0: any.
  virtual int64_t longest() const { return 0; }
};

// Says what comes next.
class LanguageModel : public Model {
 public:
  static constexpr const char* kWhat = "a language model";
  static constexpr ModelInterface kInterface = ModelInterface::language;

  // tokens i32 [B,T] -> logits of what follows each, [B,T,V]. The first token stands at position
  // `first`: those before it are not shown. Inside an AttentionScope a model with a limited memory
  // looks no further than when it decodes.
  virtual Tensor logits(const Tensor& tokens, int64_t first = 0) const = 0;

  virtual std::unique_ptr<DecodeState> start() const = 0;
  // Shows every row more tokens, i32 [R,T], and gives the logits of what follows, [R,V]. Rows of a
  // state that is still empty may differ in length: row r has lengths[r] tokens, the rest is
  // padding. From then on such rows are shown one token at a time.
  virtual Tensor step(const Tensor& tokens, DecodeState& state,
                      std::span<const int64_t> lengths = {}) const = 0;
  // Row r of the new state continues row rows[r] of the old.
  virtual void select(DecodeState& state, std::span<const int64_t> rows) const = 0;
  // Rows of another state come behind those of this one; from then on one token at a time.
  virtual void join(DecodeState& state, const DecodeState& more) const = 0;

  virtual int64_t vocabulary() const = 0;
  // Most tokens it can look at, or 0: any number.
  virtual int64_t context() const = 0;
};

// B texts, or pairs of texts, as an encoder reads them.
struct TextBatch {
  Tensor tokens;   // i32 [B,T], padded
  Tensor types;    // i32 [B,T]: 0 in the first text, 1 in the second; undefined: all 0
  Tensor lengths;  // i32 [B]
};

// Reads a text as a whole: a vector for each token, seen in its context.
class TextEncoder : public Model {
 public:
  static constexpr const char* kWhat = "a text encoder";
  static constexpr ModelInterface kInterface = ModelInterface::encoder;

  virtual Tensor hidden(const TextBatch& batch) const = 0;  // [B,T,C]
  // What a class is told from, [B,C]: for BERT the first token's vector through its pooler.
  virtual Tensor summary(const Tensor& hidden, const TextBatch& batch) const = 0;
  // Scores of the classes of each text, [B,K], if the model has a head for them.
  virtual Tensor classes(const TextBatch& batch) const = 0;

  virtual int64_t width() const = 0;
  virtual int64_t vocabulary() const = 0;
  virtual int64_t labels() const = 0;   // of the head for classes; 0: there is none
  virtual int64_t longest() const = 0;  // most tokens of a text; 0: any number
};

// Also says what stands behind masks.
class MaskedModel {
 public:
  virtual ~MaskedModel() = default;
  // Logits of the tokens at the places (b * T + t), [N,V].
  virtual Tensor words(const Tensor& hidden, const Tensor& places) const = 0;
  // Whether the second text follows the first: [B,2], 0 if it does.
  virtual Tensor follows(const Tensor& hidden, const TextBatch& batch) const = 0;
};

// Images of one size. A sample is one channel of one pixel; their raster order is row by row, pixel
// by pixel, channel by channel.
struct ImageLayout {
  int64_t rows = 28;
  int64_t columns = 28;
  int64_t channels = 1;
  int64_t levels = 256;  // that a sample can have

  int64_t samples() const { return rows * columns * channels; }
};

// B images, and what they are drawn from.
struct ImageBatch {
  Tensor values;   // i32 [B,T]: levels, in raster order
  Tensor classes;  // i32 [B], for models that know classes
  Tensor source;   // i32 [B,S]: the small images, for models that enlarge
};

// What goes on with images that were begun together.
struct ImageStep {
  Tensor levels;  // of the step before, i32 [R]; undefined at the first step
  DecodeState& state;
};

// The distribution of images, sample by sample in an order of the model's own.
class ImageModel : public Model {
 public:
  static constexpr const char* kWhat = "an image model";
  static constexpr ModelInterface kInterface = ModelInterface::image;

  virtual const ImageLayout& layout() const = 0;
  virtual int64_t classes() const = 0;     // 0: none are given
  virtual ImageLayout source() const = 0;  // of the small images; 0 rows: there are none
  // Where in raster order the sample of each step stands.
  virtual std::span<const int32_t> order() const = 0;

  // What is said of each sample given those before it: [B,T,O], step by step.
  virtual Tensor outputs(const ImageBatch& batch) const = 0;
  // -log p of the levels i32 [..., T] that came, in nats, from outputs of the same steps.
  virtual Tensor loss(const Tensor& outputs, const Tensor& levels, Reduction reduction) const = 0;
  // The probability of each level, from the outputs of one step.
  virtual void probabilities(std::span<const float> outputs,
                             std::span<float> probabilities) const = 0;

  // Begins R images; of the conditions only classes and source count.
  virtual std::unique_ptr<DecodeState> start(int64_t rows, const ImageBatch& conditions) const = 0;
  // The outputs of the next step of several beginnings, which may stand at different steps: [R,O],
  // the rows of each one after the other.
  virtual Tensor steps(std::span<const ImageStep> parts) const = 0;
  Tensor step(const Tensor& levels, DecodeState& state) const {
    const ImageStep only{levels, state};
    return steps({&only, 1});
  }
};

}  // namespace heed
