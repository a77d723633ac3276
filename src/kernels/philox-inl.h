// Philox4x32-10 on vectors, in the order that kernels/elementwise/dropout.h defines.
#if defined(HEED_KERNELS_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PHILOX_INL_H_
#undef HEED_KERNELS_PHILOX_INL_H_
#else
#define HEED_KERNELS_PHILOX_INL_H_
#endif

#include "base/random.h"
#include "kernels/elementwise/dropout.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

using WordTag = hn::CappedTag<uint32_t, 16>;
using WordVec = hn::Vec<WordTag>;

struct Halves {
  WordVec high;
  WordVec low;
};

// High and low halves of the 64-bit products of all lanes with one multiplier.
HWY_INLINE Halves multiply_wide(WordVec a, uint32_t multiplier) {
  const WordTag d;
  const hn::Repartition<uint64_t, WordTag> wide;
  const WordVec m = hn::Set(d, multiplier);
  const auto even = hn::MulEven(a, m);
  const WordVec shifted = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a)));
  const auto odd = hn::MulEven(shifted, m);
  const auto odd_mask = hn::BitCast(d, hn::Set(wide, 0xFFFFFFFF00000000ULL));
  const WordVec high_even = hn::BitCast(d, hn::ShiftRight<32>(even));
  const WordVec low_odd = hn::BitCast(d, hn::ShiftLeft<32>(odd));
  return {hn::OrAnd(high_even, hn::BitCast(d, odd), odd_mask),
          hn::Or(hn::AndNot(odd_mask, hn::BitCast(d, even)), low_odd)};
}

// The 128 numbers of one group, each of 16 bits.
HWY_INLINE void random_group(const RandomStream& stream, uint64_t group, uint16_t* out) {
  const WordTag d;
  const size_t lanes = hn::Lanes(d);
  const hn::Rebind<uint16_t, WordTag> narrow;
  const hn::Rebind<int32_t, WordTag> signed_words;
  for (size_t part = 0; part < 16; part += lanes) {
    const uint64_t first = group * 16 + part;  // a group's blocks share the upper counter word
    WordVec c0 = hn::Iota(d, static_cast<uint32_t>(first));
    WordVec c1 = hn::Set(d, static_cast<uint32_t>(first >> 32));
    WordVec c2 = hn::Set(d, static_cast<uint32_t>(stream.stream));
    WordVec c3 = hn::Set(d, static_cast<uint32_t>(stream.stream >> 32));
    uint32_t key0 = static_cast<uint32_t>(stream.seed);
    uint32_t key1 = static_cast<uint32_t>(stream.seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const Halves p0 = multiply_wide(c0, kPhiloxMultiplier0);
      const Halves p1 = multiply_wide(c2, kPhiloxMultiplier1);
      c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, key0));
      c1 = p1.low;
      c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, key1));
      c3 = p0.low;
      key0 += kPhiloxWeyl0;
      key1 += kPhiloxWeyl1;
    }
    const WordVec words[4] = {c0, c1, c2, c3};
    for (size_t w = 0; w < 4; ++w) {
      const auto low = hn::And(words[w], hn::Set(d, 0xFFFF));
      const auto high = hn::ShiftRight<16>(words[w]);
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_words, low)), narrow, out + w * 32 + part);
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_words, high)), narrow,
                 out + w * 32 + 16 + part);
    }
  }
}

// 1/(1-p) in the lanes that are kept, 0 in the others; `random` as random_group left it.
HWY_INLINE FloatVec keep_scale(const uint16_t* random, uint32_t threshold, float scale) {
  const hn::RebindToSigned<FloatTag> wide;
  const hn::Rebind<uint16_t, FloatTag> narrow;
  const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, random));
  const auto below = hn::Set(wide, static_cast<int32_t>(threshold) - 1);
  const auto kept = hn::RebindMask(FloatTag(), hn::Gt(bits, below));
  return hn::IfThenElseZero(kept, set(scale));
}

// Writes the multipliers (0 or 1/(1-p)) of elements [first, first + n); first is a group's start.
HWY_INLINE void keep_scales(const kernels::Dropout& dropout, uint64_t first, size_t n, float* out) {
  const size_t lanes = hn::Lanes(FloatTag());
  const uint32_t threshold = dropout.threshold();
  HWY_ALIGN uint16_t random[kernels::kDropoutGroup];
  for (size_t i = 0; i < n; i += kernels::kDropoutGroup) {
    random_group(dropout.stream, (first + i) / kernels::kDropoutGroup, random);
    const size_t count = HWY_MIN(n - i, static_cast<size_t>(kernels::kDropoutGroup));
    for (size_t e = 0; e < count; e += lanes) {
      const FloatVec scale = keep_scale(random + e, threshold, dropout.scale());
      if (e + lanes <= count) {
        store(scale, out + i + e);
      } else {
        store_n(scale, out + i + e, count - e);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_PHILOX_INL_H_
