#include "models/translation/parallel_transformer.h"

#include <algorithm>

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"

namespace heed {
namespace {

ParallelModel::Input input_of(const std::string& name) {
  return name == "copied"    ? ParallelModel::Input::copied
         : name == "refined" ? ParallelModel::Input::refined
                             : ParallelModel::Input::masked;
}

// Not 0 in all columns of the positions that are not `id`: [R,T] -> i8 [R,T,C]
Tensor differs(const Tensor& tokens, int32_t id, int64_t width) {
  Tensor mask = Tensor::empty({tokens.dim(0), tokens.dim(1), width}, DType::i8);
  for (int64_t i = 0; i < tokens.size(); ++i) {
    std::fill_n(mask.data<int8_t>() + i * width, width,
                static_cast<int8_t>(tokens.data<int32_t>()[i] != id));
  }
  return mask;
}

}  // namespace

// The source as every pass sees it.
struct ParallelTransformer::State : DecodeState {
  Tensor encoded;              // [B,S,C]
  std::vector<Tensor> memory;  // of each layer, [B,S,2,H,D]
  Tensor copies;               // [B,S,C], what positions are made from; undefined: from masks
  Tensor lengths;              // i32 [B]
};

ParallelTransformer::ParallelTransformer(const Scope& s, const ParallelTransformerConfig& config)
    : config_(config),
      input_(input_of(config.input)),
      transformer_(s, config),
      length_hidden_(s / "length" / "hidden", config.width, config.width),
      length_(s / "length" / "out", config.width, 2 * config.length_range + 1) {
  check(config.fertilities == 0 || input_ != Input::masked,
        "[parallel transformer] fertilities are {}, but masks copy nothing: set model.input to "
        "copied or refined",
        config.fertilities);
  check(config.positions != "relative",
        "[parallel transformer] positions are relative, which a decoder looks back with: set "
        "model.positions to sinusoidal or learned");
  check(config.random_offset == 0,
        "[parallel transformer] random_offset is {}, expected 0: all positions are said at once",
        config.random_offset);
  check(config.fertilities != 1,
        "[parallel transformer] fertilities are 1, expected 0 or more "
        "than 1: every token would be copied 0 times");
  if (config.fertilities > 0) {
    fertility_.emplace(s / "fertility", config.width, config.fertilities);
  }
}

std::unique_ptr<DecodeState> ParallelTransformer::start(const Tensor& source,
                                                        const Tensor& lengths) const {
  auto state = std::make_unique<State>();
  state->encoded = transformer_.encode(source, lengths);        // [B,S,C]
  state->memory = transformer_.project_memory(state->encoded);  // each [B,S,2,H,D]
  if (input_ != Input::masked) {
    state->copies = transformer_.source_vectors(source);  // [B,S,C]
  }
  state->lengths = lengths;
  return state;
}

Tensor ParallelTransformer::length_logits(const DecodeState& base) const {
  const auto& state = static_cast<const State&>(base);
  const std::span<const int32_t> lengths = state.lengths.span<int32_t>();
  const Tensor last =
      last_rows(state.encoded, std::vector<int64_t>(lengths.begin(), lengths.end()));  // [B,C]
  return length_(length_hidden_(last, Activation::relu));                              // [B,2r+1]
}

Tensor ParallelTransformer::fertility_logits(const DecodeState& base) const {
  check(fertility_.has_value(), "[parallel transformer] there are no fertilities");
  return (*fertility_)(static_cast<const State&>(base).encoded);  // [B,S,F]
}

Tensor ParallelTransformer::copies_of(const Tensor& copied, const State& state) const {
  check(state.copies.defined(),
        "[parallel transformer] a pass over copies, but the input is masked");
  const int64_t rows = copied.dim(0);
  const int64_t length = copied.dim(1);
  const int64_t sources = state.copies.dim(0);
  const Tensor places = copied.reshape({sources, rows / sources * length, 1});       // [B,K*T,1]
  return gather_nd(state.copies, places, 1).reshape({rows, length, config_.width});  // [R,T,C]
}

Tensor ParallelTransformer::vectors(const Pass& shown, const State& state) const {
  if (!shown.copied.defined()) {
    return transformer_.target_vectors(shown.tokens);  // [R,T,C]
  }
  const Tensor copies = copies_of(shown.copied, state);  // [R,T,C]
  return shown.tokens.defined() ? where(differs(shown.tokens, shown.start, config_.width),
                                        transformer_.target_vectors(shown.tokens), copies)
                                : copies;  // [R,T,C]
}

Tensor ParallelTransformer::pass(const Pass& shown, const DecodeState& base) const {
  const auto& state = static_cast<const State&>(base);
  const Tensor x = transformer_.place(vectors(shown, state));  // [R,T,C]
  Transformer::DecoderContext context;
  context.self.lengths = shown.lengths;
  context.memory = state.memory;
  context.memory_lengths = state.lengths;
  context.rows_per_source = x.dim(0) / state.lengths.dim(0);
  return transformer_.project(transformer_.hidden(x, context));  // [R,T,V]
}

ModelSpec spec_of(const ParallelTransformerConfig& config) {
  return spec_of(static_cast<const TransformerConfig&>(config));
}

void adapt(ParallelTransformerConfig& config, const VocabularySizes& sizes) {
  adapt(static_cast<TransformerConfig&>(config), sizes);
}

}  // namespace heed
