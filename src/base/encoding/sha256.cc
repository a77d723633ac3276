#include "base/encoding/sha256.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

uint32_t big_endian(const std::byte* bytes) {
  return std::to_integer<uint32_t>(bytes[0]) << 24 | std::to_integer<uint32_t>(bytes[1]) << 16 |
         std::to_integer<uint32_t>(bytes[2]) << 8 | std::to_integer<uint32_t>(bytes[3]);
}

}  // namespace

void Sha256::add_block(const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t t = 0; t < 16; ++t) {
    w[t] = big_endian(block + 4 * t);
  }
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t a = w[t - 15];
    const uint32_t b = w[t - 2];
    w[t] = (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10)) + w[t - 7] +
           (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<uint32_t, 8> after = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) {
    state_[i] += after[i];
  }
}

void Sha256::update(std::span<const std::byte> bytes) {
  const size_t held = size_ % kBlock;
  size_ += bytes.size();
  if (held > 0) {
    const size_t count = std::min(kBlock - held, bytes.size());
    std::copy_n(bytes.begin(), count, rest_.begin() + static_cast<ptrdiff_t>(held));
    bytes = bytes.subspan(count);
    if (held + count < kBlock) {
      return;
    }
    add_block(rest_.data());
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) {
    add_block(bytes.data());
  }
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::string Sha256::hex() {
  const uint64_t bits = size_ * 8;
  std::array<std::byte, kBlock + 8> tail = {std::byte{0x80}};
  const size_t held = size_ % kBlock;
  const size_t zeros = held < kBlock - 8 ? kBlock - 8 - held : 2 * kBlock - 8 - held;
  for (size_t i = 0; i < 8; ++i) {
    tail[zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i) & 0xFF);
  }
  update(std::span(tail).first(zeros + 8));
  std::string digits;
  for (const uint32_t word : state_) {
    digits += fmt::format("{:08x}", word);
  }
  return digits;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "[sha256] cannot open {}: {}", path.string(), system_reason());
  Sha256 sum;
  std::vector<char> buffer(size_t{256} << 10);
  do {
    file.read(buffer.data(), std::ssize(buffer));
    sum.update(std::as_bytes(std::span(buffer).first(static_cast<size_t>(file.gcount()))));
  } while (file.good());
  check(!file.bad(), "[sha256] cannot read {}: {}", path.string(), system_reason());
  return sum.hex();
}

}  // namespace heed
