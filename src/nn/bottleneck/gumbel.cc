#include "nn/bottleneck/gumbel.h"

#include <cmath>

#include "ops/bottleneck/gumbel_softmax.h"
#include "ops/linear.h"
#include "ops/loss/loss.h"
#include "ops/reduce.h"
#include "ops/shape/embedding.h"
#include "ops/shape/gather.h"
#include "ops/softmax.h"

namespace heed {

GumbelBottleneck::GumbelBottleneck(const Scope& s, int64_t width, const BottleneckConfig& config)
    : config_(config),
      logits_(s / "logits", width, config.slices * config.codes),
      table_(s.param("table", {config.slices * config.codes, width}, Init::normal(1.0F))) {}

Discrete GumbelBottleneck::operator()(const Tensor& x, float discrete) const {
  const int64_t slices = config_.slices;
  const int64_t codes = config_.codes;
  const int64_t rows = x.dim(0);
  const Tensor logits = logits_(x).reshape({rows, slices, codes});  // [N,S,K]
  const Tensor sample = gumbel_softmax(
      logits, {.temperature = config_.temperature, .noise = discrete, .discrete = discrete});
  const Tensor y = matmul(sample.reshape({rows, slices * codes}), table_);  // [N,C]
  const Tensor used = mean(softmax(logits), 0);                             // [S,K]
  const Tensor uniform = Tensor::full({slices, codes}, -std::log(static_cast<float>(codes)),
                                      used.dtype());  // [S,K]
  const Tensor penalty = scale(kl_divergence(uniform, used), config_.commitment);
  return {.y = y, .codes = top_k(logits, 1).indices.reshape({rows, slices}), .penalty = penalty};
}

Tensor GumbelBottleneck::embed(const Tensor& codes) const {
  const int64_t slices = config_.slices;
  const Tensor rows = Tensor::empty(codes.shape(), DType::i32);  // [N,S], into the table
  for (int64_t i = 0; i < codes.size(); ++i) {
    rows.data<int32_t>()[i] =
        codes.data<int32_t>()[i] + static_cast<int32_t>(i % slices * config_.codes);
  }
  return sum(embedding(rows, table_), 1);  // [N,C]
}

}  // namespace heed
