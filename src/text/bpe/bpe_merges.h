// Byte-pair encoding on ids: the pair of neighbours with the lowest rank merges, the leftmost
// first, until no pair can (Sennrich et al., 2016). Filled once, then safe to use from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heed {

class BpeMerges {
 public:
  void reserve(size_t merges);

  // Merges are added in order of rank. Ids are at least 0. Returns false and adds nothing if the
  // two already have a merge.
  bool add(int32_t left, int32_t right, int32_t merged);

  // Merges symbols in place and returns how many are left, at the front.
  size_t merge(std::span<int32_t> symbols) const;

 private:
  static constexpr uint32_t kNever = UINT32_MAX;
  struct Slot {
    int32_t left = -1;  // -1: free
    int32_t right = -1;
    uint32_t rank = kNever;
  };

  size_t slot_of(int32_t left, int32_t right) const;
  uint32_t rank(int32_t left, int32_t right) const { return slots_[slot_of(left, right)].rank; }
  void grow(size_t slots);

  size_t merge_short(std::span<int32_t> symbols) const;
  size_t merge_long(std::span<int32_t> symbols) const;

  std::vector<int32_t> merged_;                     // by rank
  std::vector<Slot> slots_ = std::vector<Slot>(2);  // a power of two, at most half of them taken
};

}  // namespace heed
