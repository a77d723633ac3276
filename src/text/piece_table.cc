#include "text/piece_table.h"

#include <bit>
#include <cstring>
#include <utility>

namespace heed {
namespace {

template <typename Word>
uint64_t load(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof(Word));
  return word;
}

uint64_t mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15U;
  return value ^ (value >> 32U);
}

uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = bytes.size();
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left > 8; left -= 8, at += 8) {
    hash = mix(hash ^ load<uint64_t>(at));
  }
  // The two loads overlap unless eight bytes are left.
  uint64_t tail = 0;
  if (left >= 4) {
    tail = load<uint32_t>(at) | (load<uint32_t>(at + left - 4) << 32U);
  } else if (left > 0) {
    tail = load<uint8_t>(at) | (load<uint8_t>(at + left / 2) << 8U) |
           (load<uint8_t>(at + left - 1) << 16U);
  }
  return mix(mix(hash ^ tail));
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32U); }

}  // namespace

void PieceTable::reserve(size_t pieces, size_t bytes) {
  bytes_.reserve(bytes);
  ends_.reserve(pieces + 1);
  grow(std::bit_ceil(2 * pieces + 2));
}

size_t PieceTable::slot_of(std::string_view bytes, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].id >= 0 &&
         (slots_[slot].tag != tag_of(hash) || bytes_of(slots_[slot].id) != bytes)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void PieceTable::grow(size_t slots) {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.id >= 0) {
      const std::string_view bytes = bytes_of(slot.id);
      slots_[slot_of(bytes, hash_of(bytes))] = slot;
    }
  }
}

int32_t PieceTable::add(std::string_view bytes, bool searchable) {
  const auto id = static_cast<int32_t>(size());
  if (searchable) {
    if (2 * (taken_ + 1) > slots_.size()) {
      grow(2 * slots_.size());
    }
    const uint64_t hash = hash_of(bytes);
    Slot& slot = slots_[slot_of(bytes, hash)];
    if (slot.id >= 0) {
      return slot.id;
    }
    slot = {tag_of(hash), id};
    ++taken_;
  }
  bytes_ += bytes;
  ends_.push_back(bytes_.size());
  return -1;
}

int32_t PieceTable::find(std::string_view bytes) const {
  return slots_[slot_of(bytes, hash_of(bytes))].id;
}

}  // namespace heed
