// Dropout from counter-based random numbers: element i is kept or not by a pure function of
// (stream, i), so the backward pass draws the mask again instead of storing it.
//
// 16 bits decide an element. Elements are taken in groups of 128: element e of group g is decided
// by half (e / 16) % 2 of word e / 32 of Philox block 16 g + e % 16, an order in which vectors of
// any width fall out of the generator without a shuffle.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "tensor/dtype.h"

namespace heed::kernels {

inline constexpr int64_t kDropoutGroup = 128;

struct Dropout {
  float probability = 0.0F;  // of dropping; quantised to 1/65536
  RandomStream stream;

  bool active() const { return probability > 0.0F; }
  uint32_t threshold() const { return static_cast<uint32_t>(std::lround(probability * 65536.0F)); }
  float scale() const { return 1.0F / (1.0F - probability); }
  // The definition, one element at a time: the reference for the kernels.
  bool keeps(uint64_t element) const {
    const uint64_t group = element / kDropoutGroup;
    const uint64_t e = element % kDropoutGroup;
    const uint32_t word = stream.block(group * 16 + e % 16)[e / 32];
    const uint32_t half = (e / 16) % 2 == 0 ? word & 0xFFFF : word >> 16;
    return half >= threshold();
  }
};

struct ApplyDropout {
  int64_t n;
  DType dtype;
  const void* x;
  void* y;  // may be x
  Dropout dropout;
  bool accumulate = false;
};
// y (+)= kept(x) * scale; its own backward, with dy for x.
void apply_dropout(const ApplyDropout& args);

}  // namespace heed::kernels
