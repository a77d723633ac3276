// Random numbers added to values, for the bottlenecks that learn through noise.
//
// Element i's number is a pure function of (stream, i), so whoever has the stream can draw it
// again. Thread safe.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "kernels/copy.h"

namespace heed::kernels {

enum class Noise {
  normal,  // of variance 1
  gumbel,  // -log(-log u): the largest of values with this noise is a sample of their softmax
};

// The definition, one element at a time.
inline float noise_at(Noise kind, const RandomStream& stream, uint64_t element) {
  if (kind == Noise::normal) {
    return stream.normal(element);
  }
  const double u = (static_cast<double>(stream.bits(element)) + 0.5) * 0x1p-32;  // in (0, 1)
  return static_cast<float>(-std::log(-std::log(u)));
}

struct AddNoise {
  int64_t n;
  In x;
  float* y;
  Noise kind;
  float amount = 1.0F;  // 0: none is drawn
  float scale = 1.0F;
  RandomStream stream = {};
};
// y = scale (x + amount noise)
void add_noise(const AddNoise& args);

}  // namespace heed::kernels
