// Attention: one op, one options struct. See kernels/attention/attention.h for the maths.
#pragma once

#include "tensor/tensor.h"

namespace heed {

struct AttentionOptions {
  bool causal = false;
  int64_t position = -1;     // of the first query among the keys; -1: the queries are the last ones
  Tensor positions = {};     // i32 [B]: each sequence's own, none above `position`
  Tensor lengths = {};       // i32 [B]: keys past a sequence's length are not seen
  Tensor mask = {};          // i8, non-zero where a query may see a key: [Tq,Tk], [B,Tq,Tk] or
                             // [B,H,Tq,Tk]; extents of 1 in front broadcast
  Tensor bias = {};          // f32, added to the logits; shapes as mask; no gradient
  int64_t window_left = -1;  // local attention: how far a query sees to the left; -1: everything
  int64_t window_right = -1;
  // Only the keys at positions s-1, 2s-1, ... are looked at, for compressed memories. Lengths are
  // still those of all keys; masks, windows and relative positions have no such keys.
  int64_t key_stride = 1;
  Tensor relative = {};          // [H,R,D] or [R,D]: embeddings of relative positions
  int64_t relative_center = -1;  // row of distance 0; -1: the last (the past only)
  Tensor relative_bias = {};     // f32 [H,R]: beside `relative`, terms of the distances alone
  // A second relative term, by what positions are labelled with: adds labelled(i, label of the key
  // - label of the query + (R-1)/2) to the product of query and key, clamped to the outermost rows.
  Tensor labelled = {};  // [B,Tq,H,R], R odd: queries times embeddings of differences
  Tensor labels = {};    // i32 [B,Tk]
  float dropout = 0.0F;  // of the weights, while training
  uint64_t part = 0;     // of heads that are split over processes: each drops its own
  float scale = 0.0F;    // 0: 1/sqrt(D)
  bool weights = false;  // also return the weights, for pictures
  // Queries and keys are a whole sequence with its padding: however short, it is computed as in a
  // longer batch. Projections that lie side by side are one anyway.
  bool whole_sequence = false;
  // Queries are steps of decoding that come together: each has the bits that it has alone. Slow for
  // many, and for inference only.
  bool stepwise = false;
};

struct AttentionResult {
  Tensor y;        // [B,Tq,H,D]
  Tensor weights;  // f32 [B,H,Tq,Tk / key_stride], if asked for; without gradient
};

// q [B,Tq,H,D], k and v [B,Tk,Hk,D] where Hk divides H (fewer key heads than query heads are shared
// by groups of neighbours).
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options = {});

// The same for projections that lie side by side: qkv [B,T,3,H,D]; or q and kv [B,Tk,2,H,D].
AttentionResult attention_qkv(const Tensor& qkv, const AttentionOptions& options = {});
AttentionResult attention_kv(const Tensor& q, const Tensor& kv,
                             const AttentionOptions& options = {});
// The queries of qkv [B,T,3,H,D] against keys and values kept elsewhere, [B,Tk,H,D]: decoding.
AttentionResult attention_cached(const Tensor& qkv, const Tensor& k, const Tensor& v,
                                 const AttentionOptions& options = {});

}  // namespace heed
