// Scaled dot-product attention with every option, blocked over queries and keys with a running
// softmax: memory grows with the length, never with its square.
//
//   logits(i, j) = scale * (q_i . k_j + q_i . e_{r(i,j)} + c_{r(i,j)} + z(i, l(i,j))) + bias(i, j)
//                                                                        where j is visible to i
//   y_i = sum over j of dropout(softmax(logits)(i, j)) v_j
//
// Query i stands at position p = i + first_position, so that a few queries at the end of a long
// past (decoding) mean what they mean in training. A query that sees nothing gives zeros.
//
// Relative positions (Shaw et al. 2018, Huang et al. 2018): r(i, j) = clamp(j - p + center, 0,
// rows - 1). Only the embeddings a block touches are multiplied with its queries, and the product
// is skewed into place: no [L, L, D] and no [L, L] tensor exists. A distance may also have a term
// c_r of its own, the same for all queries of a head (Dai et al. 2019).
//
// Labels: what keys are, as r tells where they are. z is the product of each query with embeddings
// of the differences of labels, and l(i, j) = clamp(label_j - label_p + center, 0, rows - 1).
//
// Heads h of a row lie h * head_dim from its start. Work is split by (batch, head) and, where heads
// are few, by blocks of queries (forward), of keys (backward) or of the past (decoding), in ways
// that leave no trace of the number of threads in the results.
#pragma once

#include <cstdint>

#include "kernels/elementwise/dropout.h"
#include "tensor/dtype.h"

namespace heed::kernels {

// One operand [batch, length, heads, head_dim] inside a possibly wider row.
struct HeadRows {
  void* data = nullptr;
  int64_t row = 0;    // elements from one position to the next
  int64_t batch = 0;  // elements from one sequence to the next

  template <typename T>
  T* at(int64_t b, int64_t head, int64_t head_dim) const {
    return static_cast<T*>(data) + b * batch + head * head_dim;
  }
};

// Elements between neighbours along batch, head and query; keys are contiguous. 0 broadcasts.
struct MaskStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
};

inline constexpr int64_t kMostLabelRows = 1024;
// Decoding takes a past in chunks of this many keys.
inline constexpr int64_t kPastChunk = 1024;

struct Attention {
  int64_t batch, heads, kv_heads, queries, keys, head_dim;
  DType dtype;
  HeadRows q, k, v, y;
  float scale;
  int64_t first_position;                    // of query 0 among the keys
  const int32_t* first_positions = nullptr;  // [batch]: each sequence's own instead
  bool causal = false;
  int64_t window_left = -1;   // positions seen to the left; -1: all
  int64_t window_right = -1;  // and to the right
  // Key j stands at position j * key_stride + key_stride - 1: it sums up the positions since the
  // key before. Not with windows and relative positions.
  int64_t key_stride = 1;
  // Queries and keys are one sequence and its padding, so `queries` depends on the batch: the form
  // for a few queries, which rounds differently, is not for it.
  bool whole_sequence = false;
  // Queries are steps of decoding that come together: always the form for a few queries, in which
  // each has the bits that it has alone.
  bool stepwise = false;
  const int32_t* key_lengths = nullptr;  // [batch]
  const int8_t* mask = nullptr;          // non-zero: visible
  MaskStrides mask_strides = {};
  const float* bias = nullptr;  // added to the logits
  MaskStrides bias_strides = {};
  const void* relative = nullptr;  // [heads or 1, relative_rows, head_dim]
  int64_t relative_rows = 0;
  int64_t relative_center = 0;
  bool relative_shared = false;          // one table for all heads
  const float* relative_bias = nullptr;  // c [heads, relative_rows]
  const void* labelled = nullptr;        // z [batch, queries, heads, label_rows]
  int64_t label_rows = 0;                // at most kMostLabelRows
  int64_t label_center = 0;
  const int32_t* labels = nullptr;  // [batch, label_stride], of positions
  int64_t label_stride = 0;
  Dropout dropout = {};
  float* lse = nullptr;      // [batch, heads, queries]; +inf where nothing is visible
  float* weights = nullptr;  // [batch, heads, queries, keys] before dropout
};
void attention(const Attention& args);

struct AttentionBackward {
  Attention forward;  // as it was, with y and lse filled in
  HeadRows dy;
  HeadRows dq, dk, dv;
  bool accumulate_q = false;
  bool accumulate_k = false;
  bool accumulate_v = false;
  void* d_relative = nullptr;  // null if not wanted
  DType d_relative_dtype = DType::f32;
  bool accumulate_relative = false;
  float* d_relative_bias = nullptr;  // null if not wanted
  bool accumulate_relative_bias = false;
  void* d_labelled = nullptr;  // as labelled, in the dtype of the forward pass; null if not wanted
  bool accumulate_labelled = false;
};
void attention_backward(const AttentionBackward& args);

// Part `part` of `parts` of one head's work.
struct AttentionPart {
  int64_t b, head, part, parts;
};

// Where a part of the backward pass adds what several parts contribute to; null: straight to the
// end.
struct PartGradients {
  float* dq;  // [queries, head_dim]
  float* de;  // [relative_rows, head_dim], null also if it is not wanted
  float* dc;  // [relative_rows], likewise
};

// Where the random numbers of one row of weights begin: rows start on multiples of 16, so that
// short rows share a group, and heads on whole groups.
struct AttentionDropoutLayout {
  int64_t row;   // distance of rows
  int64_t head;  // distance of heads
  AttentionDropoutLayout(int64_t queries, int64_t keys)
      : row(keys <= kDropoutGroup ? (keys + 15) / 16 * 16
                                  : (keys + kDropoutGroup - 1) / kDropoutGroup * kDropoutGroup),
        head((queries * row + kDropoutGroup - 1) / kDropoutGroup * kDropoutGroup) {}
};

}  // namespace heed::kernels
