#include "models/translation/conv.h"

#include <cmath>

#include "base/error.h"
#include "models/select.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

constexpr float kEmbeddingDeviation = 0.1F;

PositionsConfig positions_config(const ConvConfig& config) {
  return {.kind = "learned", .width = config.embedding, .longest = config.longest};
}

// i8 [B,S,C]: 1 up to each row's length; undefined if nothing is padded.
Tensor mask_of(const Tensor& lengths, int64_t longest, int64_t width) {
  if (!lengths.defined()) {
    return {};
  }
  const int64_t batch = lengths.dim(0);
  bool padded = false;
  std::vector<int8_t> mask(static_cast<size_t>(batch * longest));
  for (int64_t i = 0; i < batch * longest; ++i) {
    const bool inside = i % longest < lengths.data<int32_t>()[i / longest];
    mask[static_cast<size_t>(i)] = inside ? 1 : 0;
    padded = padded || !inside;
  }
  return padded ? expand(Tensor::from_bytes(mask, {batch, longest, 1}), {batch, longest, width})
                : Tensor();
}

// The mean over m values has 1/m of their variance if they count the same; sqrt(m) restores it.
Tensor scale_by_lengths(const Tensor& values, const Tensor& lengths) {
  if (!lengths.defined()) {
    return scale(values, std::sqrt(static_cast<float>(values.dim(1))));
  }
  std::vector<float> roots;
  for (int64_t row = 0; row < lengths.size(); ++row) {
    roots.push_back(std::sqrt(static_cast<float>(lengths.data<int32_t>()[row])));
  }
  return mul(values, expand(Tensor::from(roots, {lengths.size(), 1, 1}), values.shape()));
}

// x, but its gradient is multiplied by the factor.
Tensor scale_gradient(const Tensor& x, float factor) {
  if (Tape::recording({&x}) == nullptr) {
    return x;
  }
  return add(scale(x, factor), scale(x.detached(), 1.0F - factor));
}

}  // namespace

// The last inputs of each layer's convolution, beside the memory.
struct ConvS2S::State : DecodeState {
  ConvolutionMemory memory;  // of B sources
  std::vector<Tensor> past;  // [R,K-1,C]
  int64_t position = 0;
};

ConvS2S::ConvS2S(const Scope& s, const ConvConfig& config)
    : config_(config),
      target_embedding_(s / (config.source_vocabulary == 0 ? "embedding" : "target_embedding"),
                        config.vocabulary, config.embedding, Init::normal(kEmbeddingDeviation)),
      encoder_positions_(s / "encoder" / "positions", positions_config(config)),
      decoder_positions_(s / "decoder" / "positions", positions_config(config)),
      encoder_in_(s / "encoder" / "in", config.embedding, config.hidden, true,
                  variance_init(config.embedding, config.dropout)),
      encoder_out_(s / "encoder" / "out", config.hidden, config.embedding, true,
                   variance_init(config.hidden, 0.0F)),
      decoder_in_(s / "decoder" / "in", config.embedding, config.hidden, true,
                  variance_init(config.embedding, config.dropout)),
      decoder_out_(s / "decoder" / "out", config.hidden, config.embedding, true,
                   variance_init(config.hidden, 0.0F)) {
  if (config.source_vocabulary > 0) {
    source_embedding_.emplace(s / "source_embedding", config.source_vocabulary, config.embedding,
                              Init::normal(kEmbeddingDeviation));
  }
  const ConvolutionConfig convolution{config.hidden, config.kernel, config.dropout};
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    encoder_.emplace_back(s / "encoder" / i, convolution);
  }
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    const Scope layer = s / "decoder" / i;
    decoder_.push_back({GatedConvolution(layer, convolution),
                        StepAttention(layer / "attention", config.hidden, config.embedding,
                                      {.kind = "cross", .layer = i})});
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.embedding, config.vocabulary, true,
                    variance_init(config.embedding, config.dropout));
  }
}

ConvolutionMemory ConvS2S::encode(const Tensor& source, const Tensor& lengths) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  const Tensor read = dropout(encoder_positions_(embedding(source)), config_.dropout);  // [B,S,E]
  const Tensor mask = mask_of(lengths, source.dim(1), config_.hidden);
  const Tensor zero = Tensor::zeros({1});
  Tensor x = encoder_in_(read);  // [B,S,C]
  for (const GatedConvolution& layer : encoder_) {
    x = mask.defined() ? where(mask, x, zero) : x;
    x = blend(x, layer.centered(x));  // [B,S,C]
  }
  // Every layer of the decoder sends gradients back into the encoder, through keys and values:
  // their mean instead of their sum keeps training steady.
  const Tensor keys = scale_gradient(encoder_out_(x),
                                     0.5F / static_cast<float>(config_.decoder_layers));  // [B,S,E]
  return {.keys = keys,
          .values = scale_by_lengths(blend(keys, read), lengths),  // [B,S,E]
          .lengths = lengths};
}

Tensor ConvS2S::decode(const Tensor& target, const ConvolutionMemory& memory, State* state) const {
  const int64_t position = state == nullptr ? 0 : state->position;
  const Tensor said = dropout(decoder_positions_(target_embedding_(target), position),
                              config_.dropout);  // [R,T,E]
  Tensor x = decoder_in_(said);                  // [R,T,C]
  for (size_t i = 0; i < decoder_.size(); ++i) {
    const auto& [convolution, attention] = decoder_[i];
    const Tensor h =
        convolution.causal(x, state == nullptr ? nullptr : &state->past[i]);  // [R,T,C]
    const Tensor context = attention(h, said, memory);                        // [R,T,C]
    x = blend(x, blend(h, context));                                          // [R,T,C]
  }
  const Tensor read = dropout(decoder_out_(x), config_.dropout);       // [R,T,E]
  return output_ ? (*output_)(read) : target_embedding_.logits(read);  // [R,T,V]
}

Tensor ConvS2S::logits(const Batch& batch) const {
  return decode(batch.input, encode(batch.source, batch.source_lengths), nullptr);
}

std::unique_ptr<DecodeState> ConvS2S::start(const Tensor& source, const Tensor& lengths,
                                            int64_t beam) const {
  check(beam >= 1, "[conv] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<State>();
  state->memory = encode(source, lengths);
  for (size_t i = 0; i < decoder_.size(); ++i) {
    state->past.push_back(Tensor::zeros({source.dim(0) * beam, config_.kernel - 1, config_.hidden},
                                        state->memory.keys.dtype()));  // [R,K-1,C]
  }
  return state;
}

Tensor ConvS2S::step(const Tensor& tokens, DecodeState& base) const {
  auto& state = static_cast<State&>(base);
  const int64_t rows = tokens.size();
  const Tensor logits = decode(tokens.reshape({rows, 1}), state.memory, &state);  // [R,1,V]
  ++state.position;
  return logits.reshape({rows, config_.vocabulary});  // [R,V]
}

void ConvS2S::select(DecodeState& base, std::span<const int64_t> sources,
                     std::span<const int64_t> rows) const {
  auto& state = static_cast<State&>(base);
  for (Tensor& past : state.past) {
    past = select_rows(past, rows);
  }
  ConvolutionMemory& memory = state.memory;
  for (Tensor* part : {&memory.keys, &memory.values, &memory.lengths}) {
    *part = select_rows(*part, sources);
  }
}

ModelSpec spec_of(const ConvConfig& config) {
  const int64_t own = config.source_vocabulary;  // 0: joint
  return {.source_vocabulary = own > 0 ? own : config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.longest,
          .attention = true};
}

void adapt(ConvConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
  config.source_vocabulary = sizes.joint ? 0 : sizes.source;
}

}  // namespace heed
