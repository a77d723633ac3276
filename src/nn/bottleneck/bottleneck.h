// Discrete bottlenecks: vectors in, codes out, and what the codes stand for, through which
// gradients pass all the same. Each kind is a class in files of its own; autoencoders of texts,
// images and sound see this interface.
//
// Forward passes are const. learn() writes the buffers that a kind may have (ParameterStore), so it
// must not run beside a forward pass.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/config.h"
#include "base/random.h"
#include "nn/parameters.h"
#include "tensor/tensor.h"

namespace heed {

struct BottleneckConfig {
  std::string bottleneck = "semantic_hash";
  int64_t codes = 256;
  int64_t slices = 1;
  bool projected = false;
  float noise = 1.0F;
  float commitment = 0.25F;
  float codebook_decay = 0.95F;
  float revive_below = 0.1F;
  float temperature = 1.0F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("bottleneck", bottleneck, "how vectors become codes",
      {.choices = {"semantic_hash", "vector_quantiser", "gumbel_softmax"}});
    v("codes", codes, "codes to choose from; of semantic hashing a power of two",
      {.least = 2, .most = 1 << 16});
    v("slices", slices, "codes of one latent, each with a code book of its own",
      {.least = 1, .most = 64});
    v("projected", projected,
      "vector_quantiser: slices are random projections instead of parts of the vector");
    v("noise", noise, "semantic_hash: standard deviation of the noise in training", {.least = 0});
    v("commitment", commitment,
      "weight of the loss that binds vectors to their codes (vector_quantiser), or that asks for "
      "all codes alike (gumbel_softmax)",
      {.least = 0});
    v("codebook_decay", codebook_decay,
      "vector_quantiser: decay of the averages that the code book consists of",
      {.least = 0, .most = 0.99999});
    v("revive_below", revive_below,
      "vector_quantiser: a code that is used less than this share of the mean begins anew",
      {.least = 0, .most = 1});
    v("temperature", temperature, "gumbel_softmax: of the samples in training",
      {.least = 1e-3, .most = 1000});
  }
};

// What becomes of N latents.
struct Discrete {
  Tensor y;      // [N,C]: what the codes stand for, with gradients that pass through
  Tensor codes;  // i32 [N,S]
  Tensor penalty =
      {};              // f32, one element: what the bottleneck adds to the loss; undefined: nothing
  Tensor inputs = {};  // f32 [N,S*D]: what the codebook learns from; undefined: nothing
};

class Bottleneck {
 public:
  virtual ~Bottleneck() = default;
  Bottleneck(const Bottleneck&) = delete;
  Bottleneck& operator=(const Bottleneck&) = delete;

  // x [N,C]. While a tape is in scope, only about `discrete` of the latents are discrete, where the
  // kind does not want fewer; the rest passes as it is, so that an autoencoder can begin to learn.
  virtual Discrete operator()(const Tensor& x, float discrete = 1.0F) const = 0;
  // What codes stand for: i32 [N,S] -> [N,C], what y is for them in inference.
  virtual Tensor embed(const Tensor& codes) const = 0;

  // After a step: the results of its forward passes, and random numbers that nobody else uses. The
  // outcome depends on these and on the buffers alone.
  virtual void learn(std::span<const Discrete> /*passes*/, const RandomStream& /*random*/) const {}

 protected:
  Bottleneck() = default;
};

// For latents of `width` elements.
std::unique_ptr<Bottleneck> make_bottleneck(const Scope& s, int64_t width,
                                            const BottleneckConfig& config);

}  // namespace heed
