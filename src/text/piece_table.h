// Finds a piece's id by its bytes: a hash table with open addressing over bytes that lie one after
// the other, since a tokenizer asks it once per word. Filled once, then safe to read from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

class PieceTable {
 public:
  void reserve(size_t pieces, size_t bytes);

  // The next id, counted from 0. Bytes that are not `searchable` are kept, but never found. Returns
  // the id that has these searchable bytes already and adds nothing, or -1.
  int32_t add(std::string_view bytes, bool searchable = true);

  int32_t find(std::string_view bytes) const;  // -1: none
  std::string_view bytes_of(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }
  size_t size() const { return ends_.size() - 1; }

 private:
  struct Slot {
    uint32_t tag = 0;  // the hash's upper half spares most comparisons of bytes
    int32_t id = -1;
  };

  // The slot that holds these bytes, or the free one where they belong.
  size_t slot_of(std::string_view bytes, uint64_t hash) const;
  void grow(size_t slots);

  std::string bytes_;
  std::vector<size_t> ends_ = {0};
  std::vector<Slot> slots_ = std::vector<Slot>(2);  // a power of two, at most half of them taken
  size_t taken_ = 0;
};

}  // namespace heed
