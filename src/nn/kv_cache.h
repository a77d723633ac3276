// The keys and values that attention keeps while it decodes.
// A value; rows are independent of each other. Rows that leave and rows that come are cheap: others
// stay where they are as long as nobody shares them and there is room.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "nn/mixer.h"
#include "tensor/tensor.h"

namespace heed {

// Keys and values of the positions decoded so far.
struct KvCache : MixerCache {
  Tensor k, v;         // [R, capacity, H, D]
  Tensor labels;       // i32 [R, capacity], if the positions have any
  int64_t length = 0;  // positions filled, in the longest row
  // The length of each row where they differ; empty: all have `length`.
  std::vector<int64_t> lengths;
  // How many of the positions that come next belong to each row; empty: all. What is behind them is
  // padding, which is not kept.
  std::vector<int64_t> coming;
  // Where those that came last begin in each row.
  std::vector<int64_t> newest;
  // Rows may forget all but their last so many positions, for attention that looks no further;
  // 0: they keep all.
  int64_t most = 0;

  // Sets `coming`: lengths i32 [R], or undefined.
  void expect(const Tensor& next_lengths);
  // Takes the keys and values out of qkv [R,T,3,H,D]; the capacity doubles when it is used up.
  void append(const Tensor& qkv, const Tensor& new_labels = {});
  void append(const Tensor& keys, const Tensor& values,
              const Tensor& new_labels);  // [R,T,H,D] each
  // Row r becomes what rows[r] was; there may be fewer rows than before, or more. Where each row
  // stays or comes from behind those that are left, only rows that move are copied.
  void select(std::span<const int64_t> rows) override;
  void join(const KvCache& more);
  void join(const MixerCache& more) override { join(cache_as<KvCache>(more)); }
  void roll_back(std::span<const int64_t> dropped) override;
  size_t bytes() const override;

 private:
  // A position's keys and values, `step` bytes apart from the next position's.
  struct Source {
    const Tensor& shape;  // [R,T,...,H,D]
    const std::byte* keys;
    const std::byte* values;
    size_t step;
  };
  struct Part {
    Tensor* used;
    Tensor* room;
  };
  std::array<Part, 3> parts() {
    return {{{&k, &k_room_}, {&v, &v_room_}, {&labels, &labels_room_}}};
  }
  int64_t length_of(int64_t row) const {
    return lengths.empty() ? length : lengths[static_cast<size_t>(row)];
  }

  void append(const Source& source, const Tensor& new_labels);
  void set_lengths(std::vector<int64_t> each);
  void write(const Tensor& part, const std::byte* from, size_t step, int64_t steps) const;
  void reserve(int64_t needed);
  void move(int64_t room, int64_t capacity, int64_t kept);
  void forget();
  bool alone();

  // As k, v and labels, which are their first rows; others have room behind those.
  Tensor k_room_, v_room_, labels_room_;
};

}  // namespace heed
