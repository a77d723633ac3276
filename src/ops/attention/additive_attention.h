// Additive attention (Bahdanau, Cho and Bengio 2015), which aligns the decoder of a recurrent
// translator with its source.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// Queries and keys come projected to the same A columns.
struct AdditiveAttentionInputs {
  Tensor query;         // [B, Tq, A]
  Tensor keys;          // [B, Tk, A]
  Tensor v;             // [A] f32
  Tensor values;        // [B, Tk, V]
  Tensor lengths = {};  // i32 [B]: keys past a row's length get no weight. Undefined: all count
};

struct AdditiveAttention {
  Tensor context;  // [B, Tq, V]: weights * values
  Tensor weights;  // [B, Tq, Tk]: softmax over the keys of v . tanh(query + key)
};
// A row of length 0 has weights and context of zeros.
AdditiveAttention additive_attention(const AdditiveAttentionInputs& inputs);

}  // namespace heed
