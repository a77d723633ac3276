// What training, decoding and pictures know about a model. Concrete models stand behind it.
//
// Models that generate are asked in two ways: all positions at once (teacher forcing, `logits`), or
// a few at a time with everything already computed kept in a state (`start`, `step`). Both give the
// same numbers. Texts come in rows, padded, with their lengths. What a model attends to meanwhile,
// an AttentionScope shows (nn/scopes/attention_scope.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ignore.h"
#include "base/random.h"
#include "models/spec.h"
#include "nn/bottleneck/bottleneck.h"
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

// Whatever translates. How it decodes depends on which of the interfaces below it has
// (decode/text/decoding.h).
class TranslationModel : public Model {
 public:
  static constexpr const char* kWhat = "a translation model";
  static constexpr ModelInterface kInterface = ModelInterface::translation;

  virtual int64_t target_vocabulary() const = 0;
  // Longest sequence it can be shown, or 0: any.
  virtual int64_t longest() const { return 0; }
};

// Translates token by token, each one given those before it.
class Seq2SeqModel : public TranslationModel {
 public:
  static constexpr const char* kWhat = "a sequence-to-sequence model";

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
};

// Translates all positions at once, or improves all of them in a few passes.
class ParallelModel : public TranslationModel {
 public:
  static constexpr const char* kWhat = "a parallel translation model";

  // What the decoder learned to begin with, and to go on from.
  enum class Input {
    copied,   // the source, spread over the target; there is one pass (Gu et al. 2018)
    refined,  // the same, then the tokens of the pass before (Lee et al. 2018)
    masked,   // masks, then tokens and masks (Ghazvininejad et al. 2019)
  };
  virtual Input input() const = 0;

  // Reads sources i32 [B,S] with lengths i32 [B]. Passes do not change the state.
  virtual std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths) const = 0;
  // How much longer a target is than its source, END counted in both: [B, 2 * range + 1], where
  // column c stands for c - range.
  virtual Tensor length_logits(const DecodeState& state) const = 0;
  virtual int64_t length_range() const = 0;
  // How often each token of a source is copied, [B,S,F], where column f stands for f times.
  virtual Tensor fertility_logits(const DecodeState& state) const = 0;
  virtual int64_t fertilities() const = 0;  // F; 0: there is no such head, copies are spread evenly

  // One pass over R = B * K rows; K rows next to each other have one source. The decoder is shown
  // either `tokens`, with START in the place of masks, or copies of the source's tokens. If both
  // are given, a position copies where `tokens` has START.
  struct Pass {
    Tensor tokens = {};   // i32 [R,T]
    Tensor copied = {};   // i32 [R,T]: which token of its source each position copies
    Tensor lengths = {};  // i32 [R]
    int32_t start = 1;    // the id of START, if both are given
  };
  // Logits of every position: [R,T,V].
  virtual Tensor pass(const Pass& shown, const DecodeState& state) const = 0;
};

// Translates through a few discrete latents: their codes are said one after the other, then all
// tokens at once, given the codes. A latent stands for `shorten` tokens and has `slices` codes.
class LatentModel : public TranslationModel {
 public:
  static constexpr const char* kWhat = "a latent translation model";

  struct Sizes {
    int64_t codes = 0;  // to choose from; the number after the last one begins and ends a sequence
    int64_t slices = 0;
    int64_t shorten = 0;
  };
  virtual Sizes sizes() const = 0;

  // Sources i32 [B,S] with lengths i32 [B], as all else looks at them: [B,S,C].
  struct Encoded {
    Tensor vectors;  // [B,S,C]
    Tensor lengths;  // i32 [B]
  };
  virtual Encoded encode(const Tensor& source, const Tensor& lengths) const = 0;
  // The distribution of the codes, as a sequence-to-sequence model whose tokens are codes; those of
  // a latent come in a row. Its sources are the ones that were encoded. The model must outlive it.
  virtual std::unique_ptr<Seq2SeqModel> prior(const Encoded& sources) const = 0;
  // Logits of all tokens given the codes i32 [R,L,slices] of R = B * K rows, of which each has a
  // number of latents, i32 [R]; K rows next to each other have one source -> [R, L * shorten, V].
  virtual Tensor logits(const Tensor& codes, const Tensor& latents,
                        const Encoded& sources) const = 0;

  // Teacher forcing: what is said of a target given its own codes, and of these codes.
  struct Teaching {         // while a tape is in scope
    float discrete = 1.0F;  // share of the latents that are discrete
    float predicted =
        0.0F;  // share of those that the decoder sees with the prior's likeliest codes
  };
  struct Taught {
    Tensor logits;        // [B,T,V]
    Tensor code_logits;   // [B, L + 1, slices, codes + 1]
    Tensor code_targets;  // i32 [B, L + 1, slices]: the codes and the end; kIgnore after it
    Discrete latents;     // of all rows, one after the other, without padding
  };
  virtual Taught teach(const Batch& batch, const Teaching& teaching) const = 0;
  // What the code book learns from a step (nn/bottleneck/bottleneck.h).
  virtual void learn(std::span<const Discrete> passes, const RandomStream& random) const = 0;
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

// What tokens gave that were shown on trial, those of each row after those of the row before.
struct Verified {
  Tensor hidden;  // [N,C]: what the output projection sees
  Tensor logits;  // [N,V]: of what follows each token
};

// Also judges several tokens of a row at once and takes back those that do not stand the test,
// which is what blockwise and speculative decoding need of a model that decodes step by step.
class VerifyingModel {
 public:
  virtual ~VerifyingModel() = default;
  // Shows row r lengths[r] more tokens, perhaps none, of tokens i32 [R,T]; the rest is padding.
  // After the first token of a row each has the bits that step() gives it.
  virtual Verified verify(const Tensor& tokens, std::span<const int64_t> lengths,
                          DecodeState& state) const = 0;
  // Takes back the last dropped[r] tokens of row r, which came with the last verify().
  virtual void roll_back(DecodeState& state, std::span<const int64_t> dropped) const = 0;
};

// Also proposes the tokens behind the next one (Stern, Shazeer and Uszkoreit 2018): head 1 is the
// model itself, head h says which token comes h positions on.
class BlockwiseModel {
 public:
  virtual ~BlockwiseModel() = default;
  virtual int64_t block() const = 0;  // k: tokens that the heads propose together
  // hidden [N,C], as verify() gives it -> logits of heads 2 to k, [N,k-1,V]
  virtual Tensor propose(const Tensor& hidden) const = 0;
  // One head alone, from 1 to k: [..., C] -> [..., V]
  virtual Tensor propose(const Tensor& hidden, int64_t head) const = 0;
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
