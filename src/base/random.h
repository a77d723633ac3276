// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A number is a pure function of (seed, stream, index), so nothing has to be
// stored to draw it again, threads need no order, and a checkpoint keeps two integers.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace heed {

inline constexpr int kPhiloxRounds = 10;
inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85;

using Philox4 = std::array<uint32_t, 4>;

constexpr Philox4 philox(Philox4 counter, uint64_t seed) {
  uint32_t key0 = static_cast<uint32_t>(seed);
  uint32_t key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

// What one random operation needs: the run's seed and a stream number nobody else uses.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t stream = 0;

  Philox4 block(uint64_t index) const {
    return philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                   static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                  seed);
  }
  uint32_t bits(uint64_t index) const { return block(index / 4)[index % 4]; }
  // In [0, 1), 24 bits.
  float uniform(uint64_t index) const { return static_cast<float>(bits(index) >> 8) * 0x1p-24F; }
  // Box-Muller: one number an index.
  float normal(uint64_t index) const {
    const Philox4 bits = block(index);
    const double radius = std::sqrt(-2.0 * std::log((bits[0] + 1.0) * 0x1p-32));
    return static_cast<float>(radius * std::cos(6.283185307179586 * bits[1] * 0x1p-32));
  }
};

// FNV-1a: gives a name its own stream, whatever the order in which names are met.
constexpr uint64_t stream_of(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return hash;
}

}  // namespace heed
