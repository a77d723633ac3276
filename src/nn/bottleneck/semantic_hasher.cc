#include "nn/bottleneck/semantic_hasher.h"

#include <bit>

#include "base/error.h"
#include "ops/bottleneck/semantic_hash.h"

namespace heed {
namespace {

int64_t bits_of(int64_t codes) {
  check(codes >= 2 && std::has_single_bit(static_cast<uint64_t>(codes)),
        "[semantic_hash] there are {} codes, expected a power of two", codes);
  return std::countr_zero(static_cast<uint64_t>(codes));
}

}  // namespace

SemanticHasher::SemanticHasher(const Scope& s, int64_t width, const BottleneckConfig& config)
    : noise_(config.noise),
      bits_(bits_of(config.codes)),
      hash_(s / "hash", width, config.slices * bits_),
      hidden_(s / "hidden", config.slices * bits_, width),
      out_(s / "out", width, width) {}

// Bits are centred, so that a code of zeros says as much as one of ones.
Tensor SemanticHasher::spread(const Tensor& bits) const {
  const Tensor centred = add_scalar(scale(bits, 2.0F), -1.0F);  // [N,S*b]
  return out_(hidden_(centred, Activation::relu));              // [N,C]
}

Discrete SemanticHasher::operator()(const Tensor& x, float discrete) const {
  const Tensor v = hash_(x);  // [N,S*b]
  const Tensor bits =
      semantic_hash(v, {.noise = noise_ * discrete, .discrete = discrete / 2});  // [N,S*b]
  return {.y = spread(bits), .codes = codes_of_bits(v, bits_)};
}

Tensor SemanticHasher::embed(const Tensor& codes) const {
  return spread(bits_of_codes(codes, bits_, hidden_.dtype()));  // [N,C]
}

}  // namespace heed
