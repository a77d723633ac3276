// Vector quantisation as a layer (van den Oord et al. 2017), with the decomposed forms of Kaiser et
// al. 2018: the vector is cut into slices, or projected by fixed random matrices, and each part has
// a codebook of its own.
//
// The codebook follows the vectors that chose it by exponential moving averages (Roy et al. 2018):
//   n_k <- decay n_k + (1 - decay) |vectors of code k|
//   m_k <- decay m_k + (1 - decay) sum of them
//   e_k  = m_k / n_k
// A code that is hardly used any more begins anew at one of the vectors of the step; at the first
// step that holds for all that nobody chose, so the data initialise the codebook. The averages are
// buffers of the model, so a checkpoint has them.
#pragma once

#include <optional>

#include "nn/bottleneck/bottleneck.h"
#include "nn/layers.h"

namespace heed {

class VectorQuantiser final : public Bottleneck {
 public:
  VectorQuantiser(const Scope& s, int64_t width, const BottleneckConfig& config);

  // The penalty is the commitment loss: the mean squared distance from the codes.
  Discrete operator()(const Tensor& x, float discrete = 1.0F) const override;
  Tensor embed(const Tensor& codes) const override;
  void learn(std::span<const Discrete> passes, const RandomStream& random) const override;

 private:
  Tensor parts(const Tensor& x) const;  // [N,C] -> [N,S*D]
  void count(std::span<const Discrete> passes) const;
  void revive(std::span<const Discrete> passes, const RandomStream& random) const;

  BottleneckConfig config_;
  int64_t width_;         // D: of a code
  Parameter projection_;  // [S*D,C], not trained; undefined: slices
  Parameter codebook_;    // [S,K,D]
  Parameter counts_;      // [S,K]: n
  Parameter sums_;        // [S,K,D]: m
  Linear out_;
};

}  // namespace heed
