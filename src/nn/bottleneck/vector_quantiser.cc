#include "nn/bottleneck/vector_quantiser.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/bottleneck/vector_quantise.h"
#include "ops/loss/loss.h"
#include "ops/shape/cast.h"

namespace heed {
namespace {

int64_t slice_width(int64_t width, int64_t slices) {
  check(slices >= 1 && width % slices == 0,
        "[vector_quantiser] {} slices of a vector of {} elements, expected a divisor", slices,
        width);
  return width / slices;
}

}  // namespace

VectorQuantiser::VectorQuantiser(const Scope& s, int64_t width, const BottleneckConfig& config)
    : config_(config),
      width_(slice_width(width, config.slices)),
      projection_(config.projected
                      ? s.buffer("projection", {width, width},
                                 Init::normal(1.0F / std::sqrt(static_cast<float>(width))))
                      : Parameter()),
      codebook_(s.buffer("codebook", {config.slices, config.codes, width_}, Init::normal(1.0F))),
      counts_(s.buffer("counts", {config.slices, config.codes}, Init::constant(0.0F))),
      sums_(s.buffer("sums", {config.slices, config.codes, width_}, Init::constant(0.0F))),
      out_(s / "out", width, width) {}

Tensor VectorQuantiser::parts(const Tensor& x) const {
  if (!config_.projected) {
    return x;
  }
  return linear(x, projection_.tensor().to(x.dtype()), Tensor());  // [N,S*D]
}

Discrete VectorQuantiser::operator()(const Tensor& x, float discrete) const {
  const Tensor v = parts(x);                                          // [N,S*D]
  const Quantised nearest = vector_quantise(v, codebook_, discrete);  // [N,S*D], [N,S]
  const Tensor penalty = mse(v, code_vectors(nearest.codes, codebook_));
  return {.y = out_(nearest.y),  // [N,C]
          .codes = nearest.codes,
          .penalty = scale(penalty, config_.commitment),
          .inputs = v.detached().to(DType::f32)};
}

Tensor VectorQuantiser::embed(const Tensor& codes) const {
  return out_(code_vectors(codes, codebook_).to(out_.dtype()));  // [N,C]
}

void VectorQuantiser::learn(std::span<const Discrete> passes, const RandomStream& random) const {
  count(passes);
  revive(passes, random);
  const std::span<const float> counts = counts_.tensor().span<float>();
  for (size_t code = 0; code < counts.size(); ++code) {
    for (size_t i = code * static_cast<size_t>(width_);
         counts[code] > 0.0F && i < (code + 1) * static_cast<size_t>(width_); ++i) {
      codebook_.tensor().data<float>()[i] = sums_.tensor().data<float>()[i] / counts[code];
    }
  }
}

// The averages of one step. In the order of the latents, so that the bits do not depend on threads.
void VectorQuantiser::count(std::span<const Discrete> passes) const {
  const float kept = config_.codebook_decay;
  float* counts = counts_.tensor().data<float>();
  float* sums = sums_.tensor().data<float>();
  std::for_each_n(counts, counts_.tensor().size(), [&](float& value) { value *= kept; });
  std::for_each_n(sums, sums_.tensor().size(), [&](float& value) { value *= kept; });
  for (const Discrete& pass : passes) {
    for (int64_t part = 0; part < pass.codes.size(); ++part) {
      const int64_t slice = part % config_.slices;
      const int64_t code = slice * config_.codes + pass.codes.data<int32_t>()[part];
      const float* vector = pass.inputs.data<float>() + part * width_;
      counts[code] += 1.0F - kept;
      for (int64_t i = 0; i < width_; ++i) {
        sums[code * width_ + i] += (1.0F - kept) * vector[i];
      }
    }
  }
}

// A code that begins anew counts as much as the mean of its slice: it has time to find users.
void VectorQuantiser::revive(std::span<const Discrete> passes, const RandomStream& random) const {
  int64_t latents = 0;
  for (const Discrete& pass : passes) {
    latents += pass.codes.dim(0);
  }
  if (latents == 0) {
    return;
  }
  const auto vector_of = [&](int64_t latent, int64_t slice) {
    const Discrete* pass = passes.data();
    for (; latent >= pass->codes.dim(0); ++pass) {
      latent -= pass->codes.dim(0);
    }
    return pass->inputs.data<float>() + (latent * config_.slices + slice) * width_;
  };
  for (int64_t slice = 0; slice < config_.slices; ++slice) {
    float* counts = counts_.tensor().data<float>() + slice * config_.codes;
    float* sums = sums_.tensor().data<float>() + slice * config_.codes * width_;
    const float mean =
        std::accumulate(counts, counts + config_.codes, 0.0F) / static_cast<float>(config_.codes);
    for (int64_t code = 0; code < config_.codes; ++code) {
      if (counts[code] > 0.0F && counts[code] >= config_.revive_below * mean) {
        continue;
      }
      const auto index = static_cast<uint64_t>(slice * config_.codes + code);
      const float* vector = vector_of(random.bits(index) % static_cast<uint64_t>(latents), slice);
      counts[code] = mean;
      for (int64_t i = 0; i < width_; ++i) {
        sums[code * width_ + i] = mean * vector[i];
      }
    }
  }
}

}  // namespace heed
