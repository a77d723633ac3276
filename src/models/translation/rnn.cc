#include "models/translation/rnn.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/select.h"
#include "ops/shape/shape.h"

namespace heed {

// The memory, and what each layer of the decoder remembers. A batch of B sources has R = B * beam
// rows in the decoder.
struct Rnn::State : DecodeState {
  Alignment::Memory memory;            // of B sources; undefined without attention
  std::vector<RecurrentState> layers;  // of R rows
  int64_t beam = 1;
};

namespace {

Init embedding_init(const RnnConfig& config) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(config.embedding)));
}

int64_t memory_width(const RnnConfig& config) {
  return config.hidden * (config.bidirectional ? 2 : 1);
}

// What the upper layers and the output see besides the layer below.
int64_t context_width(const RnnConfig& config) {
  return config.attention ? memory_width(config) : 0;
}

}  // namespace

Rnn::Rnn(const Scope& s, const RnnConfig& config)
    : config_(config),
      target_embedding_(s / (config.source_vocabulary == 0 ? "embedding" : "target_embedding"),
                        config.vocabulary, config.embedding, embedding_init(config)),
      readout_(s / "readout", config.hidden + context_width(config), config.embedding) {
  const RecurrentCell cell = config.cell == "gru" ? RecurrentCell::gru : RecurrentCell::lstm;
  const int64_t memory = memory_width(config);
  const int64_t above = config.hidden + context_width(config);
  if (config.source_vocabulary > 0) {
    source_embedding_.emplace(s / "source_embedding", config.source_vocabulary, config.embedding,
                              embedding_init(config));
  }
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    encoder_.emplace_back(s / "encoder" / i,
                          RecurrentConfig{cell, i == 0 ? config.embedding : memory, config.hidden},
                          config.bidirectional);
  }
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    bridges_.emplace_back(s / "bridge" / i, RecurrentConfig{cell, memory, config.hidden});
    decoder_.emplace_back(s / "decoder" / i,
                          RecurrentConfig{cell, i == 0 ? config.embedding : above, config.hidden});
  }
  if (config.attention) {
    alignment_.emplace(s / "attention",
                       AlignmentConfig{config.hidden, memory, config.attention_width});
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.embedding, config.vocabulary);
  }
}

void Rnn::encode(const Tensor& source, const Tensor& lengths, State& state) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  Tensor x = embedding(source, std::sqrt(static_cast<float>(config_.embedding)));  // [B,S,C]
  std::vector<RecurrentState> last;
  for (const RecurrentEncoderLayer& layer : encoder_) {
    RecurrentResult result = layer(dropout(x, config_.dropout), lengths);
    x = result.outputs;  // [B,S,E]
    last.push_back(result.state);
  }
  // A decoder with more layers than the encoder starts the upper ones from the topmost state.
  for (size_t i = 0; i < bridges_.size(); ++i) {
    state.layers.push_back(bridges_[i](last[std::min(i, last.size() - 1)]));  // [B,H]
  }
  if (alignment_) {
    state.memory = {.values = x, .keys = alignment_->project(x), .lengths = lengths};
  }
}

// queries [R,T,H] -> [R,T,E]. Rows about one source are queries of one attention: the memory is
// not repeated for them.
Tensor Rnn::context_of(const Tensor& queries, const State& state) const {
  const int64_t rows = queries.dim(0);
  const int64_t steps = queries.dim(1);
  const AdditiveAttention attention = (*alignment_)(
      queries.reshape({rows / state.beam, state.beam * steps, config_.hidden}), state.memory);
  return attention.context.reshape({rows, steps, attention.context.dim(2)});
}

// target i32 [R,T] -> logits [R,T,V]; the state moves on by T steps.
Tensor Rnn::decode(const Tensor& target, State& state) const {
  const auto run = [&](size_t layer, const Tensor& x) {
    RecurrentResult result = decoder_[layer](dropout(x, config_.dropout), state.layers[layer]);
    state.layers[layer] = result.state;
    return result.outputs;  // [R,T,H]
  };
  const float scale = std::sqrt(static_cast<float>(config_.embedding));
  Tensor x = run(0, target_embedding_(target, scale));  // [R,T,H]
  Tensor context;
  if (alignment_) {
    context = context_of(x, state);  // [R,T,E]
  }
  const auto with_context = [&](const Tensor& below) {
    return context.defined() ? concat({below, context}, 2) : below;  // [R,T,H+E]
  };
  for (size_t i = 1; i < decoder_.size(); ++i) {
    x = run(i, with_context(x));  // [R,T,H]
  }
  const Tensor read = readout_(dropout(with_context(x), config_.dropout), Activation::tanh);
  return output_ ? (*output_)(read) : target_embedding_.logits(read);  // [R,T,V]
}

Tensor Rnn::logits(const Batch& batch) const {
  State state;
  encode(batch.source, batch.source_lengths, state);
  return decode(batch.input, state);  // [B,T,V]
}

std::unique_ptr<DecodeState> Rnn::start(const Tensor& source, const Tensor& lengths,
                                        int64_t beam) const {
  check(beam >= 1, "[rnn] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<State>();
  encode(source, lengths, *state);
  state->beam = beam;
  for (RecurrentState& layer : state->layers) {
    layer.h = repeat(layer.h, 0, beam);  // [R,H]
    layer.c = layer.c.defined() ? repeat(layer.c, 0, beam) : layer.c;
  }
  return state;
}

Tensor Rnn::step(const Tensor& tokens, DecodeState& base) const {
  const int64_t rows = tokens.size();
  return decode(tokens.reshape({rows, 1}), static_cast<State&>(base))  // [R,1,V]
      .reshape({rows, config_.vocabulary});
}

void Rnn::select(DecodeState& base, std::span<const int64_t> sources,
                 std::span<const int64_t> rows) const {
  auto& state = static_cast<State&>(base);
  for (RecurrentState& layer : state.layers) {
    layer.h = select_rows(layer.h, rows);
    layer.c = select_rows(layer.c, rows);
  }
  Alignment::Memory& memory = state.memory;
  for (Tensor* part : {&memory.values, &memory.keys, &memory.lengths}) {
    *part = select_rows(*part, sources);
  }
}

ModelSpec spec_of(const RnnConfig& config) {
  const int64_t own = config.source_vocabulary;  // 0: joint
  return {.source_vocabulary = own > 0 ? own : config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .attention = config.attention};
}

void adapt(RnnConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
  config.source_vocabulary = sizes.joint ? 0 : sizes.source;
}

}  // namespace heed
