// Vector quantisation (van den Oord et al. 2017): each vector becomes the nearest one of a
// codebook. With several slices each vector is cut into parts that have codebooks of their own
// (decomposed vector quantisation, Kaiser et al. 2018).
#pragma once

#include "tensor/tensor.h"

namespace heed {

struct Quantised {
  Tensor y;      // [..., S * D]: the nearest codes' vectors
  Tensor codes;  // i32 [..., S]
};

// x [..., S * D], codebook f32 [S,K,D].
//
// The gradient passes as if y were x (the straight-through estimator): dx = dy. The codebook gets
// none; nn/bottleneck/vector_quantiser.h says how it learns. While a tape is in scope, about
// `discrete` of the rows are quantised and the others are x itself; the codes are those of all.
Quantised vector_quantise(const Tensor& x, const Tensor& codebook, float discrete = 1.0F);

// codes i32 [..., S] -> their vectors [..., S * D], in the codebook's dtype. Without gradient.
Tensor code_vectors(const Tensor& codes, const Tensor& codebook);

}  // namespace heed
