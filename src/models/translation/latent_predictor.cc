#include "models/translation/latent_predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "nn/select_rows.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/shape.h"

namespace heed {

LatentPredictor::LatentPredictor(const Scope& s, const LatentTransformerConfig& config)
    : codes_(config.codes),
      slices_(config.slices),
      width_(config.width),
      most_(config.positions == "learned" ? config.longest / config.shorten * config.slices : 0),
      dropout_(config.dropout),
      embedding_(s / "embedding", config.slices * (config.codes + 1), config.width,
                 embedding_init(config)),
      positions_(s / "positions", positions_config(config)),
      layers_(s, {.layer = layer_config(config, {.causal = true, .cross = true}),
                  .layers =
                      config.predictor_layers > 0 ? config.predictor_layers : config.decoder_layers,
                  .final_norm = config.final_norm,
                  .label = "predictor"}) {
  for (int64_t slice = 0; slice < slices_; ++slice) {
    if (slice > 0) {
      norms_.emplace_back(s / "slice_norm" / slice, config.width, config.epsilon);
    }
    heads_.emplace_back(s / "head" / slice, config.width, config.codes + 1);
  }
}

Tensor LatentPredictor::vectors(const Tensor& codes, int64_t slices) const {
  const Tensor rows = Tensor::empty(codes.shape(), DType::i32);  // [...,slices], into the table
  for (int64_t i = 0; i < codes.size(); ++i) {
    const int64_t slice = i % slices;
    rows.data<int32_t>()[i] = codes.data<int32_t>()[i] + static_cast<int32_t>(slice * (codes_ + 1));
  }
  const float scale = std::sqrt(static_cast<float>(width_));
  return sum(embedding_(rows, scale), -2);  // [...,C]
}

Tensor LatentPredictor::embed(const Tensor& codes, int64_t past) const {
  return dropout(positions_(vectors(codes, slices_), past), dropout_);  // [B,L,C]
}

Tensor LatentPredictor::head(const Tensor& hidden, const Tensor& said, int64_t slice) const {
  if (slice == 0) {
    return heads_[0](hidden);  // [...,K+1]
  }
  const Tensor x = add(hidden, vectors(said, slice));  // [...,C]
  const auto at = static_cast<size_t>(slice);
  return heads_[at](norms_[at - 1](x));  // [...,K+1]
}

Tensor LatentPredictor::logits(const Tensor& codes, const StackMemory& memory) const {
  const int64_t rows = codes.dim(0);
  const int64_t steps = codes.dim(1) + 1;
  const Tensor begin = Tensor::from_ints(
      std::vector<int32_t>(static_cast<size_t>(rows * slices_), static_cast<int32_t>(codes_)),
      {rows, 1, slices_});
  const Tensor shown = concat({begin, codes}, 1);                         // [B,L+1,S]
  const Tensor hidden = layers_(embed(shown), {.causal = true}, memory);  // [B,L+1,C]
  const Tensor said =
      concat({codes, Tensor::zeros({rows, 1, slices_}, DType::i32)}, 1);  // [B,L+1,S]
  std::vector<Tensor> slices;
  for (int64_t slice = 0; slice < slices_; ++slice) {
    const Tensor before = slice > 0 ? heed::slice(said, 2, 0, slice) : Tensor();
    slices.push_back(
        head(hidden, before, slice).reshape({rows, steps, 1, codes_ + 1}));  // [B,L+1,1,K+1]
  }
  return slices_ == 1 ? slices[0] : concat(slices, 2);  // [B,L+1,S,K+1]
}

namespace {

// Which latent and which of its codes comes next, and what the layers said of it.
struct PriorState : DecodeState {
  LayerStack::State layers;
  int64_t position = 0;  // codes said so far
  Tensor codes;          // i32 [R,S]: of the latent that was begun last
  Tensor hidden;         // [R,C]: the layers' output for it
};

}  // namespace

class LatentPrior final : public Seq2SeqModel {
 public:
  LatentPrior(const LatentPredictor& predictor, const StackMemory& memory)
      : predictor_(predictor), memory_(memory) {}

  Tensor logits(const Batch& batch) const override;
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override;
  Tensor step(const Tensor& tokens, DecodeState& base) const override;
  void select(DecodeState& base, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override;
  int64_t target_vocabulary() const override { return predictor_.codes_ + 1; }
  int64_t longest() const override { return predictor_.most_; }

 private:
  void forbid_end(const Tensor& logits, int64_t position) const;

  const LatentPredictor& predictor_;
  StackMemory memory_;
};

// A sequence has a latent at least, and ends between two of them: elsewhere END is impossible.
// logits [R,T,K+1], of the codes at `position` and after it.
void LatentPrior::forbid_end(const Tensor& logits, int64_t position) const {
  const int64_t end = predictor_.codes_;
  for (int64_t i = 0; i < logits.dim(0) * logits.dim(1); ++i) {
    const int64_t at = position + i % logits.dim(1);
    if (at == 0 || at % predictor_.slices_ != 0) {
      logits.data<float>()[i * (end + 1) + end] = -std::numeric_limits<float>::infinity();
    }
  }
}

Tensor LatentPrior::logits(const Batch& batch) const {
  const int64_t rows = batch.input.dim(0);
  const int64_t steps = batch.input.dim(1);
  const int64_t slices = predictor_.slices_;
  const int64_t latents = (steps - 1 + slices - 1) / slices;
  const Tensor said = pad(slice(batch.input, 1, 1, steps), 1,
                          {.after = latents * slices - (steps - 1)});  // [B,L*S]
  const Tensor all = predictor_.logits(said.reshape({rows, latents, slices}), memory_)
                         .reshape({rows, (latents + 1) * slices, predictor_.codes_ + 1});
  Tensor logits = slice(all, 1, 0, steps).to(DType::f32);  // [B,T,K+1]
  forbid_end(logits, 0);
  return logits;
}

std::unique_ptr<DecodeState> LatentPrior::start(const Tensor& source, const Tensor& /*lengths*/,
                                                int64_t beam) const {
  check(source.dim(0) == memory_.vectors.dim(0),
        "[latent prior] {} sources, expected the {} that were encoded", source.dim(0),
        memory_.vectors.dim(0));
  auto state = std::make_unique<PriorState>();
  state->layers = predictor_.layers_.start(
      {.vectors = memory_.vectors, .lengths = memory_.lengths, .beam = beam});
  return state;
}

Tensor LatentPrior::step(const Tensor& tokens, DecodeState& base) const {
  auto& state = static_cast<PriorState&>(base);
  const int64_t rows = tokens.size();
  const int64_t slices = predictor_.slices_;
  const int64_t slice = state.position % slices;
  if (state.position == 0) {  // every code of the latent before the first is K
    state.codes = Tensor::empty({rows, slices}, DType::i32);
    std::fill_n(state.codes.data<int32_t>(), rows * slices,
                static_cast<int32_t>(predictor_.codes_));
  } else {
    state.codes = state.codes.clone();
    const int64_t last = (state.position - 1) % slices;
    for (int64_t row = 0; row < rows; ++row) {
      state.codes.data<int32_t>()[row * slices + last] = tokens.data<int32_t>()[row];
    }
  }
  if (slice == 0) {
    const Tensor x = predictor_.embed(state.codes.reshape({rows, 1, slices}),
                                      state.position / slices);  // [R,1,C]
    state.hidden =
        predictor_.layers_.step(x, state.layers).reshape({rows, predictor_.width_});  // [R,C]
  }
  const Tensor said = slice > 0 ? heed::slice(state.codes, 1, 0, slice) : Tensor();  // [R,slice]
  Tensor logits = predictor_.head(state.hidden, said, slice).to(DType::f32);         // [R,K+1]
  forbid_end(logits.reshape({rows, 1, logits.dim(1)}), state.position);
  ++state.position;
  return logits;
}

void LatentPrior::select(DecodeState& base, std::span<const int64_t> sources,
                         std::span<const int64_t> rows) const {
  auto& state = static_cast<PriorState&>(base);
  state.layers.select(sources, rows);
  state.codes = select_rows(state.codes, rows);
  state.hidden = select_rows(state.hidden, rows);
}

std::unique_ptr<Seq2SeqModel> LatentPredictor::prior(const StackMemory& memory) const {
  return std::make_unique<LatentPrior>(*this, memory);
}

}  // namespace heed
