#include "nn/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/parallel.h"

namespace heed {
namespace {

// [R, capacity, ...]: what a position takes, and where row r begins.
size_t position_bytes(const Tensor& part) {
  return static_cast<size_t>(part.shape().product(2, part.rank())) * size_of(part.dtype());
}
std::byte* row_of(const Tensor& part, int64_t row) {
  return static_cast<std::byte*>(part.raw()) +
         static_cast<size_t>(row * part.dim(1)) * position_bytes(part);
}

// As `part`, with other numbers of rows and positions.
Tensor resized(const Tensor& part, int64_t rows, int64_t capacity) {
  Shape shape = part.shape();
  shape.set(0, rows);
  shape.set(1, capacity);
  return Tensor::empty(shape, part.dtype());
}

}  // namespace

void KvCache::expect(const Tensor& next_lengths) {
  coming.clear();
  if (next_lengths.defined()) {
    const std::span<const int32_t> each = next_lengths.span<int32_t>();
    coming.assign(each.begin(), each.end());
  }
}

size_t KvCache::bytes() const {
  size_t total = 0;
  for (const Tensor* part : {&k, &v, &labels}) {
    total += part->defined() ? part->bytes() : 0;
  }
  return total;
}

void KvCache::append(const Tensor& qkv, const Tensor& new_labels) {
  check(qkv.rank() == 5 && qkv.dim(2) == 3, "[cache] qkv is {}, expected [B,T,3,H,D]", qkv);
  const size_t row = static_cast<size_t>(qkv.dim(3) * qkv.dim(4)) * size_of(qkv.dtype());
  const auto* from = static_cast<const std::byte*>(qkv.raw());
  append({qkv, from + row, from + 2 * row, 3 * row}, new_labels);
}

void KvCache::append(const Tensor& keys, const Tensor& values, const Tensor& new_labels) {
  check(keys.rank() == 4 && keys.shape() == values.shape() && keys.dtype() == values.dtype(),
        "[cache] keys are {}, values {}, expected [B,T,H,D]", keys, values);
  check(!needs_grad(values), "[cache] a cache is for decoding: it carries no gradient");
  append(
      {keys, static_cast<const std::byte*>(keys.raw()), static_cast<const std::byte*>(values.raw()),
       static_cast<size_t>(keys.dim(2) * keys.dim(3)) * size_of(keys.dtype())},
      new_labels);
}

void KvCache::append(const Source& source, const Tensor& new_labels) {
  const Tensor& like = source.shape;
  const int64_t rows = like.dim(0);
  const int64_t steps = like.dim(1);
  check(!needs_grad(like), "[cache] a cache is for decoding: it carries no gradient");
  check(!k.defined() || (k.dim(0) == rows && k.dim(2) == like.dim(-2) && k.dim(3) == like.dim(-1) &&
                         k.dtype() == like.dtype()),
        "[cache] {} comes, the cache holds {}", like, k);
  check((length == 0 || new_labels.defined() == labels.defined()) &&
            (!new_labels.defined() || new_labels.shape() == Shape{rows, steps}),
        "[cache] {} comes with labels {}, the cache holds {}", like, new_labels, labels);
  check(coming.empty() || std::ssize(coming) == rows, "[cache] {} lengths for {} rows, expected {}",
        coming.size(), rows, rows);
  if (most > 0 && length + steps > 2 * most) {
    forget();
  }
  if (!k.defined()) {
    k = v = Tensor::empty({rows, 0, like.dim(-2), like.dim(-1)}, like.dtype());
    labels = new_labels.defined() ? Tensor::empty({rows, 0}, DType::i32) : Tensor();
    k_room_ = v_room_ = labels_room_ = Tensor();
  }
  reserve(length + steps);
  write(k, source.keys, source.step, steps);
  write(v, source.values, source.step, steps);
  if (labels.defined()) {
    write(labels, static_cast<const std::byte*>(new_labels.raw()), sizeof(int32_t), steps);
  }
  newest.clear();
  std::vector<int64_t> grown;
  for (int64_t row = 0; row < rows; ++row) {
    newest.push_back(length_of(row));
    grown.push_back(newest.back() + (coming.empty() ? steps : coming[static_cast<size_t>(row)]));
  }
  coming.clear();
  set_lengths(std::move(grown));
}

void KvCache::set_lengths(std::vector<int64_t> each) {
  length = each.empty() ? 0 : *std::max_element(each.begin(), each.end());
  const bool equal =
      std::all_of(each.begin(), each.end(), [&](int64_t own) { return own == length; });
  lengths = equal ? std::vector<int64_t>() : std::move(each);
}

// What is taken back is written over by what comes next: whoever shares the tensors keeps his.
void KvCache::roll_back(std::span<const int64_t> dropped) {
  check(k.defined() && std::ssize(dropped) == k.dim(0),
        "[cache] {} rows to roll back, the cache holds {}", dropped.size(),
        k.defined() ? k.dim(0) : 0);
  std::vector<int64_t> left;
  for (int64_t row = 0; row < k.dim(0); ++row) {
    const int64_t count = dropped[static_cast<size_t>(row)];
    check(0 <= count && count <= length_of(row),
          "[cache] row {} is to lose {} positions, expected 0 to {}", row, count, length_of(row));
    left.push_back(length_of(row) - count);
  }
  if (!alone()) {
    move(k.dim(0), k.dim(1), length);
  }
  set_lengths(std::move(left));
}

// Positions that lie `step` bytes apart come behind those of each row.
void KvCache::write(const Tensor& part, const std::byte* from, size_t step, int64_t steps) const {
  const size_t each = position_bytes(part);
  for (int64_t i = 0; i < part.dim(0) * steps; ++i, from += step) {
    const int64_t position = length_of(i / steps) + i % steps;
    std::memcpy(row_of(part, i / steps) + static_cast<size_t>(position) * each, from, each);
  }
}

// Room for so many positions.
void KvCache::reserve(int64_t needed) {
  if (needed <= k.dim(1)) {
    return;
  }
  constexpr int64_t kLeastCapacity = 64;
  const int64_t wanted = std::max(kLeastCapacity, 2 * length);
  move(k.dim(0), std::max(most > 0 ? std::min(wanted, 2 * most) : wanted, needed), length);
}

// Each row's last `most` positions move to the front; what comes finds room behind them, so that
// this is rare.
void KvCache::forget() {
  if (length <= most) {
    return;
  }
  move(k.dim(0), 2 * most, most);
  length = std::min(length, most);
  for (int64_t& own : lengths) {
    own = std::min(own, most);
  }
}

// Each row's last `kept` positions, or all if they are fewer, to tensors with room for other
// numbers of rows and positions.
void KvCache::move(int64_t room, int64_t capacity, int64_t kept) {
  for (const Part& part : parts()) {
    if (!part.used->defined()) {
      continue;
    }
    const Tensor old = *part.used;
    *part.room = resized(old, room, capacity);
    *part.used = part.room->rows(0, old.dim(0));
    const size_t each = position_bytes(old);
    parallel_for(length > 0 ? old.dim(0) : 0, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t count = std::min(length_of(row), kept);
        std::memcpy(row_of(*part.room, row),
                    row_of(old, row) + static_cast<size_t>(length_of(row) - count) * each,
                    static_cast<size_t>(count) * each);
      }
    });
  }
}

// Whether nobody else holds the tensors, so that rows may be written over.
bool KvCache::alone() {
  bool result = true;
  for (const Part& part : parts()) {
    if (part.used->defined() && part.room->defined()) {
      const int64_t rows = part.used->dim(0);
      *part.used = Tensor();
      result = part.room->unique() && result;
      *part.used = part.room->rows(0, rows);
    }
  }
  return result;
}

void KvCache::select(std::span<const int64_t> rows) {
  if (!k.defined()) {
    return;
  }
  const auto count = static_cast<int64_t>(rows.size());
  bool in_place = true;
  for (int64_t row = 0; row < count; ++row) {
    const int64_t from = rows[static_cast<size_t>(row)];
    check(0 <= from && from < k.dim(0), "[cache] row {} selected, expected 0 to {}", from,
          k.dim(0) - 1);
    in_place = in_place && (from == row || from >= count);
  }
  in_place = in_place && k_room_.defined() && alone();
  for (const Part& part : parts()) {
    if (!part.used->defined()) {
      continue;
    }
    const Tensor old = *part.used;
    *part.room = in_place ? *part.room : resized(old, count, old.dim(1));
    *part.used = part.room->rows(0, count);
    const size_t each = position_bytes(old);
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t from = rows[static_cast<size_t>(row)];
        if (!in_place || from != row) {
          std::memcpy(row_of(*part.room, row), row_of(old, from),
                      static_cast<size_t>(length_of(from)) * each);
        }
      }
    });
  }
  if (!lengths.empty()) {
    std::vector<int64_t> left;
    for (const int64_t row : rows) {
      left.push_back(length_of(row));
    }
    set_lengths(std::move(left));
  }
}

void KvCache::join(const KvCache& more) {
  if (!k.defined() || !more.k.defined()) {
    *this = k.defined() ? *this : more;
    return;
  }
  check(k.dim(2) == more.k.dim(2) && k.dim(3) == more.k.dim(3) && k.dtype() == more.k.dtype() &&
            labels.defined() == more.labels.defined(),
        "[cache] {} cannot be joined with {}", k, more.k);
  const int64_t rows = k.dim(0);
  std::vector<int64_t> all;
  for (int64_t row = 0; row < rows + more.k.dim(0); ++row) {
    all.push_back(row < rows ? length_of(row) : more.length_of(row - rows));
  }
  const int64_t capacity = std::max(k.dim(1), more.k.dim(1));
  if (capacity > k.dim(1) || std::ssize(all) > k_room_.dim(0) || !alone()) {
    move(std::max(std::ssize(all), 2 * rows), capacity, length);
  }
  const std::array<const Tensor*, 3> coming{&more.k, &more.v, &more.labels};
  for (size_t i = 0; i < coming.size(); ++i) {
    const Part part = parts()[i];
    if (!part.used->defined()) {
      continue;
    }
    *part.used = part.room->rows(0, std::ssize(all));
    for (int64_t row = rows; row < std::ssize(all); ++row) {
      std::memcpy(row_of(*part.used, row), row_of(*coming[i], row - rows),
                  static_cast<size_t>(all[static_cast<size_t>(row)]) * position_bytes(*part.used));
    }
  }
  set_lengths(std::move(all));
}

}  // namespace heed
