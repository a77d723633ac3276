#include "models/translation/latent_transformer.h"

#include <algorithm>
#include <bit>

#include "autograd/tape.h"
#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {

// The rows of a batch and the latents that each has.
struct LatentRows {
  int64_t rows = 0;             // B
  int64_t most = 0;             // L: of the longest row
  std::vector<int32_t> counts;  // [B]
  std::vector<int32_t> places;  // [N]: where the latents stand among B * L
  std::vector<int32_t> back;    // [B*L]: which of the N latents stands there; 0 in padding

  LatentRows(const Tensor& lengths, int64_t width, int64_t shorten)
      : rows(lengths.size()), most((width + shorten - 1) / shorten) {
    for (const int32_t length : lengths.span<int32_t>()) {
      const auto row = std::ssize(counts);
      counts.push_back(static_cast<int32_t>((length + shorten - 1) / shorten));
      for (int64_t latent = 0; latent < most; ++latent) {
        const bool counted = latent < counts.back();
        back.push_back(counted ? static_cast<int32_t>(places.size()) : 0);
        if (counted) {
          places.push_back(static_cast<int32_t>(row * most + latent));
        }
      }
    }
  }
};

namespace {

StackConfig autoencoder_config(const LatentTransformerConfig& config) {
  TransformerConfig steady = config;
  steady.dropout = config.autoencoder_dropout;
  steady.attention_dropout = config.autoencoder_dropout;
  steady.hidden_dropout = config.autoencoder_dropout;
  return {.layer = layer_config(steady, {.cross = true}),
          .layers = config.autoencoder_layers,
          .final_norm = config.final_norm,
          .label = "autoencoder"};
}

Tensor ints(const std::vector<int32_t>& values) {
  return Tensor::from_ints(values, {std::ssize(values)});
}

// The targets i32 [B,T] to read, padded to `width`: what follows the END of a row repeats it.
Tensor readable(const Batch& batch, int64_t width) {
  Tensor y = Tensor::empty({batch.target.dim(0), width}, DType::i32);
  for (int64_t row = 0; row < y.dim(0); ++row) {
    const int32_t* from = batch.target.data<int32_t>() + row * batch.target.dim(1);
    const int64_t length = batch.target_lengths.data<int32_t>()[row];
    for (int64_t i = 0; i < width; ++i) {
      y.data<int32_t>()[row * width + i] = from[std::min(i, length - 1)];
    }
  }
  return y;
}

// Codes i32 [N,S] in their places, [B,L,S], with 0 in padding.
Tensor in_places(const Tensor& codes, const LatentRows& rows) {
  const int64_t slices = codes.dim(1);
  Tensor all = Tensor::zeros({rows.rows, rows.most, slices}, DType::i32);
  for (size_t i = 0; i < rows.places.size(); ++i) {
    std::copy_n(codes.data<int32_t>() + static_cast<int64_t>(i) * slices, slices,
                all.data<int32_t>() + rows.places[i] * slices);
  }
  return all;
}

// What the predictor has to say: the codes of each row, then `end`, then nothing. [B,L+1,S]
Tensor to_say(const Tensor& codes, const LatentRows& rows, int32_t end) {
  const int64_t slices = codes.dim(2);
  Tensor targets = Tensor::empty({rows.rows, rows.most + 1, slices}, DType::i32);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t count = rows.counts[static_cast<size_t>(row)];
    int32_t* to = targets.data<int32_t>() + row * (rows.most + 1) * slices;
    std::fill_n(to, (rows.most + 1) * slices, kIgnore);
    std::copy_n(codes.data<int32_t>() + row * rows.most * slices, count * slices, to);
    to[count * slices] = end;  // the first code alone tells the end
  }
  return targets;
}

}  // namespace

LatentTransformer::LatentTransformer(const Scope& s, const LatentTransformerConfig& config)
    : config_(config),
      transformer_(s, config),
      autoencoder_positions_(s / "autoencoder" / "positions", positions_config(config)),
      autoencoder_(s / "autoencoder", autoencoder_config(config)),
      latent_norm_(s / "latent_norm", config.width, config.epsilon),
      bottleneck_(make_bottleneck(s / "bottleneck", config.width, config)),
      predictor_(s / "predictor", config) {
  check(std::has_single_bit(static_cast<uint64_t>(config.shorten)),
        "[latent_transformer] shorten is {}, expected a power of two", config.shorten);
  check(config.residual && !config.timing_every_layer && config.positions != "relative",
        "[latent_transformer] residual is {}, timing_every_layer {} and positions {}, expected "
        "true, false and any but relative",
        config.residual, config.timing_every_layer, config.positions);
  check(
      config.random_offset == 0,
      "[latent_transformer] random_offset is {}, expected 0: latents count from the first position",
      config.random_offset);
  for (int64_t n = 1, i = 0; n < config.shorten; n *= 2, ++i) {
    down_.emplace_back(s / "down" / i, 2 * config.width, config.width);
    up_.emplace_back(s / "up" / i, config.width, 2 * config.width);
  }
}

LatentModel::Encoded LatentTransformer::encode(const Tensor& source, const Tensor& lengths) const {
  return {transformer_.encode(source, lengths), lengths};  // [B,S,C]
}

std::unique_ptr<Seq2SeqModel> LatentTransformer::prior(const Encoded& sources) const {
  return predictor_.prior({.vectors = sources.vectors, .lengths = sources.lengths});
}

Tensor LatentTransformer::shorten(const Tensor& y, const Tensor& lengths,
                                  const Encoded& sources) const {
  const Tensor placed = dropout(autoencoder_positions_(transformer_.target_vectors(y)),
                                config_.autoencoder_dropout);  // [B,T,C]
  Tensor x = autoencoder_(placed, {.lengths = lengths},
                          {.vectors = sources.vectors, .lengths = sources.lengths});  // [B,T,C]
  for (size_t i = 0; i < down_.size(); ++i) {
    const Tensor pairs = x.reshape({x.dim(0), x.dim(1) / 2, 2 * x.dim(2)});           // [B,T/2,2C]
    x = down_[i](pairs, i + 1 < down_.size() ? Activation::relu : Activation::none);  // [B,T/2,C]
  }
  return latent_norm_(x);  // [B,L,C]
}

Tensor LatentTransformer::decode(const Tensor& z, const Tensor& latents,
                                 const Encoded& sources) const {
  Tensor x = z;  // [R,L,C]
  for (size_t i = 0; i < up_.size(); ++i) {
    const Tensor pairs =
        up_[i](x, i + 1 < up_.size() ? Activation::relu : Activation::none);  // [R,L,2C]
    x = pairs.reshape({x.dim(0), 2 * x.dim(1), x.dim(2)});                    // [R,2L,C]
  }
  const Tensor lengths = latents.clone();  // i32 [R]
  for (int32_t& length : lengths.span<int32_t>()) {
    length *= static_cast<int32_t>(config_.shorten);
  }
  const Tensor y = transformer_.hidden(
      transformer_.place(x), {.self = {.lengths = lengths},
                              .encoded = sources.vectors,
                              .memory_lengths = sources.lengths,
                              .rows_per_source = x.dim(0) / sources.vectors.dim(0)});  // [R,T,C]
  return transformer_.project(y);                                                      // [R,T,V]
}

Tensor LatentTransformer::logits(const Tensor& codes, const Tensor& latents,
                                 const Encoded& sources) const {
  const int64_t rows = codes.dim(0);
  const int64_t most = codes.dim(1);
  const Tensor z = bottleneck_->embed(codes.reshape({rows * most, codes.dim(2)}));  // [R*L,C]
  return decode(z.reshape({rows, most, config_.width}), latents, sources);          // [R,L*n,V]
}

LatentModel::Taught LatentTransformer::teach(const Batch& batch, const Teaching& teaching) const {
  const LatentRows rows(batch.target_lengths, batch.target.dim(1), config_.shorten);
  const Shape all{rows.rows * rows.most, config_.width};
  const Encoded sources = encode(batch.source, batch.source_lengths);      // [B,S,C]
  const Tensor y = readable(batch, rows.most * config_.shorten);           // [B,L*n]
  const Tensor z = shorten(y, batch.target_lengths, sources);              // [B,L,C]
  const Tensor real = index_select(z.reshape(all), 0, ints(rows.places));  // [N,C]
  Taught taught;
  taught.latents = (*bottleneck_)(real, teaching.discrete);    // [N,C], [N,S]
  const Tensor codes = in_places(taught.latents.codes, rows);  // [B,L,S]
  taught.code_logits = predictor_.logits(
      codes, {.vectors = sources.vectors, .lengths = sources.lengths});  // [B,L+1,S,K+1]
  taught.code_targets = to_say(codes, rows, static_cast<int32_t>(config_.codes));
  const Tensor seen = with_predicted(taught, rows, teaching);  // [B*L,C]
  taught.logits =
      slice(decode(seen.reshape({rows.rows, rows.most, config_.width}), ints(rows.counts), sources),
            1, 0, batch.target.dim(1));  // [B,T,V]
  return taught;
}

// The latents in their places, some of them with the codes that the predictor takes for likeliest,
// as when translating: the decoder learns not to trust every code.
Tensor LatentTransformer::with_predicted(const Taught& taught, const LatentRows& rows,
                                         const Teaching& teaching) const {
  Tape* training = Tape::current();
  const float share = teaching.predicted * teaching.discrete;
  if (training == nullptr || share == 0.0F) {
    return index_select(taught.latents.y, 0, ints(rows.back));  // [B*L,C]
  }
  const int64_t slices = config_.slices;
  const Tensor likeliest =
      top_k(slice(taught.code_logits.detached(), -1, 0, config_.codes), 1).indices;  // [B,L+1,S,1]
  const RandomStream random = training->draw();
  std::vector<int32_t> chosen;
  std::vector<int32_t> back = rows.back;
  const auto count = static_cast<int32_t>(rows.places.size());
  for (size_t i = 0; i < rows.places.size(); ++i) {
    if (random.uniform(i) >= share) {
      continue;
    }
    const int64_t place = rows.places[i];
    back[static_cast<size_t>(place)] = count + static_cast<int32_t>(std::ssize(chosen) / slices);
    const int64_t at = (place / rows.most * (rows.most + 1) + place % rows.most) * slices;
    const int32_t* codes = likeliest.data<int32_t>() + at;
    chosen.insert(chosen.end(), codes, codes + slices);
  }
  if (chosen.empty()) {
    return index_select(taught.latents.y, 0, ints(rows.back));  // [B*L,C]
  }
  const Tensor predicted = bottleneck_->embed(
      Tensor::from_ints(chosen, {std::ssize(chosen) / slices, slices}));         // [M,C]
  return index_select(concat({taught.latents.y, predicted}, 0), 0, ints(back));  // [B*L,C]
}

ModelSpec spec_of(const LatentTransformerConfig& config) {
  ModelSpec spec = spec_of(static_cast<const TransformerConfig&>(config));
  spec.attention = false;  // what is there to see has no step-by-step decoder to go with it
  return spec;
}

void adapt(LatentTransformerConfig& config, const VocabularySizes& sizes) {
  adapt(static_cast<TransformerConfig&>(config), sizes);
}

}  // namespace heed
