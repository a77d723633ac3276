#include "models/translation/bahdanau.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "models/select.h"
#include "ops/reduce.h"
#include "ops/shape/shape.h"

namespace heed {

// The memory, and the decoder's state. A batch of B sources has R = B * beam rows in the decoder.
struct Bahdanau::State : DecodeState {
  Alignment::Memory memory;  // of B sources
  Tensor s;                  // [R,H]
  int64_t beam = 1;
};

// What the state of each row looks at.
struct Bahdanau::Found {
  Tensor context;  // [R,E]
  Tensor weights;  // [B,beam,S]
};

namespace {

Init token_init(const BahdanauConfig& config) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(config.embedding)));
}

float token_scale(const BahdanauConfig& config) {
  return std::sqrt(static_cast<float>(config.embedding));
}

// The larger one of each two neighbours: [..., 2L] -> [..., L].
Tensor maxout(const Tensor& x) {
  return max(reshape(x, {x.dim(0), x.dim(1), x.dim(2) / 2, 2}), -1);
}

}  // namespace

Bahdanau::Bahdanau(const Scope& s, const BahdanauConfig& config)
    : config_(config),
      target_embedding_(s / (config.source_vocabulary == 0 ? "embedding" : "target_embedding"),
                        config.vocabulary, config.embedding, token_init(config)),
      encoder_(s / "encoder", {RecurrentCell::gru, config.embedding, config.hidden}, true),
      bridge_(s / "bridge", config.hidden, config.hidden),
      alignment_(s / "attention", {config.hidden, 2 * config.hidden, config.attention_width}),
      unit_(s / "decoder", {config.embedding, 2 * config.hidden, config.hidden}),
      deep_state_(s / "deep" / "state", config.hidden, 2 * config.maxout),
      deep_token_(s / "deep" / "token", config.embedding, 2 * config.maxout, false),
      deep_context_(s / "deep" / "context", 2 * config.hidden, 2 * config.maxout, false) {
  if (config.source_vocabulary > 0) {
    source_embedding_.emplace(s / "source_embedding", config.source_vocabulary, config.embedding,
                              token_init(config));
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.maxout, config.vocabulary);
    return;
  }
  check(config.maxout == config.embedding,
        "[bahdanau] maxout is {}, expected {} as embedding, which tied_output uses as the output "
        "projection",
        config.maxout, config.embedding);
}

void Bahdanau::encode(const Tensor& source, const Tensor& lengths, State& state) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  const Tensor x = embedding(source, token_scale(config_));                             // [B,S,C]
  const RecurrentResult read = encoder_(dropout(x, config_.dropout), lengths);          // [B,S,2H]
  const Tensor backwards = slice(read.state.h, 1, config_.hidden, 2 * config_.hidden);  // [B,H]
  state.s = bridge_(backwards, Activation::tanh);                                       // [B,H]
  state.memory = {
      .values = read.outputs, .keys = alignment_.project(read.outputs), .lengths = lengths};
}

// Rows about one source are queries of one attention: the memory is not repeated for them.
Bahdanau::Found Bahdanau::look(const State& state) const {
  const int64_t rows = state.s.dim(0);
  const AdditiveAttention found =
      alignment_.attend(state.s.reshape({rows / state.beam, state.beam, config_.hidden}),
                        state.memory);  // [B,beam,E]
  return {found.context.reshape({rows, 2 * config_.hidden}), found.weights};
}

// target i32 [R,T] -> logits [R,T,V]; the state moves on by T steps.
Tensor Bahdanau::decode(const Tensor& target, State& state) const {
  const int64_t rows = target.dim(0);
  const int64_t steps = target.dim(1);
  const Tensor y =
      dropout(target_embedding_(target, token_scale(config_)), config_.dropout);  // [R,T,C]
  const Tensor projected = unit_.project(y);                                      // [R,T,3H]
  std::vector<Tensor> states;
  std::vector<Tensor> contexts;
  std::vector<Tensor> weights;
  for (int64_t i = 0; i < steps; ++i) {
    const Found found = look(state);  // [R,E]
    const Tensor input = slice(projected, 1, i, i + 1).reshape({rows, 3 * config_.hidden});
    state.s = unit_(input, found.context, state.s);  // [R,H]
    states.push_back(state.s.reshape({rows, 1, config_.hidden}));
    contexts.push_back(found.context.reshape({rows, 1, 2 * config_.hidden}));
    weights.push_back(found.weights);
  }
  if (AttentionScope::open()) {
    alignment_.report(concat(weights, 1));  // [B, T * beam, S]
  }
  const Tensor deep = add(add(deep_state_(concat(states, 1)), deep_token_(y)),
                          deep_context_(concat(contexts, 1)));   // [R,T,2L]
  const Tensor t = dropout(maxout(deep), config_.dropout);       // [R,T,L]
  return output_ ? (*output_)(t) : target_embedding_.logits(t);  // [R,T,V]
}

Tensor Bahdanau::logits(const Batch& batch) const {
  State state;
  encode(batch.source, batch.source_lengths, state);
  return decode(batch.input, state);  // [B,T,V]
}

std::unique_ptr<DecodeState> Bahdanau::start(const Tensor& source, const Tensor& lengths,
                                             int64_t beam) const {
  check(beam >= 1, "[bahdanau] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<State>();
  encode(source, lengths, *state);
  state->beam = beam;
  state->s = repeat(state->s, 0, beam);  // [R,H]
  return state;
}

Tensor Bahdanau::step(const Tensor& tokens, DecodeState& base) const {
  const int64_t rows = tokens.size();
  return decode(tokens.reshape({rows, 1}), static_cast<State&>(base))  // [R,1,V]
      .reshape({rows, config_.vocabulary});
}

void Bahdanau::select(DecodeState& base, std::span<const int64_t> sources,
                      std::span<const int64_t> rows) const {
  auto& state = static_cast<State&>(base);
  state.s = select_rows(state.s, rows);
  Alignment::Memory& memory = state.memory;
  for (Tensor* part : {&memory.values, &memory.keys, &memory.lengths}) {
    *part = select_rows(*part, sources);
  }
}

ModelSpec spec_of(const BahdanauConfig& config) {
  const int64_t own = config.source_vocabulary;  // 0: joint
  return {.source_vocabulary = own > 0 ? own : config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .attention = true};
}

void adapt(BahdanauConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
  config.source_vocabulary = sizes.joint ? 0 : sizes.source;
}

}  // namespace heed
