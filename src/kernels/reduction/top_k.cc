#include "kernels/reduction/top_k.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "base/parallel.h"
#include "base/scratch.h"

namespace heed::kernels {
namespace {

constexpr uint32_t kSign = 0x80000000U;

// A key that orders as the values do.
uint32_t order_key(float value) {
  if (std::isnan(value)) {
    return 0xFFFFFFFFU;
  }
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0F);  // -0 becomes 0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
uint32_t order_key(bf16 value) { return order_key(static_cast<float>(value)); }
uint32_t order_key(int32_t value) { return static_cast<uint32_t>(value) ^ kSign; }
uint32_t order_key(int8_t value) { return order_key(static_cast<int32_t>(value)); }

// Value and position in one integer: larger is better, and of equal values the earlier position.
template <typename T>
uint64_t rank_key(T value, int64_t position, bool largest) {
  const uint32_t key = largest ? order_key(value) : ~order_key(value);
  return static_cast<uint64_t>(key) << 32 | (0xFFFFFFFFU - static_cast<uint32_t>(position));
}
int32_t position_of(uint64_t key) {
  return static_cast<int32_t>(0xFFFFFFFFU - (key & 0xFFFFFFFFU));
}

// What values compare as.
float comparable(float value) { return value; }
float comparable(bf16 value) { return static_cast<float>(value); }
int32_t comparable(int32_t value) { return value; }
int32_t comparable(int8_t value) { return value; }

// Whether the value may be better than the worst of those that are kept; a NaN on either side may.
template <typename T>
bool may_enter(T value, T worst, bool largest) {
  return !(largest ? value <= worst : value >= worst);
}

constexpr int64_t kBlock = 32;

// How many elements from x on are of no use: whole blocks, which vectors look through.
template <typename T, typename Worst>
int64_t useless(const T* x, int64_t count, Worst worst, bool largest) {
  int64_t e = 0;
  for (; e + kBlock <= count; e += kBlock) {
    int entering = 0;
    for (int64_t i = 0; i < kBlock; ++i) {
      entering |= static_cast<int>(may_enter(comparable(x[e + i]), worst, largest));
    }
    if (entering != 0) {
      break;
    }
  }
  return e;
}

// The best k keys of a line at `x` with distance `stride`, in no order. A heap with the worst key
// on top: most elements of a long line are turned away by one comparison with its value; for the
// others the keys decide.
template <typename T>
void select(const T* x, int64_t stride, const TopK& args, uint64_t* heap) {
  for (int64_t e = 0; e < args.k; ++e) {
    heap[e] = rank_key(x[e * stride], e, args.largest);
  }
  std::make_heap(heap, heap + args.k, std::greater<>());
  auto worst = comparable(x[position_of(heap[0]) * stride]);
  for (int64_t e = args.k, looked_at = e; e < args.extent; ++e) {
    if (stride == 1 && e == looked_at) {
      e += useless(x + e, args.extent - e, worst, args.largest);
      looked_at = e + kBlock;
      if (e == args.extent) {
        break;
      }
    }
    if (!may_enter(comparable(x[e * stride]), worst, args.largest)) {
      continue;
    }
    const uint64_t key = rank_key(x[e * stride], e, args.largest);
    if (key > heap[0]) {
      std::pop_heap(heap, heap + args.k, std::greater<>());
      heap[args.k - 1] = key;
      std::push_heap(heap, heap + args.k, std::greater<>());
      worst = comparable(x[position_of(heap[0]) * stride]);
    }
  }
}

template <typename T>
void top_k_lines(const TopK& args, int64_t begin, int64_t end) {
  thread_local Scratch scratch;
  uint64_t* keys = scratch.get<uint64_t>(static_cast<size_t>(args.k));
  for (int64_t line = begin; line < end; ++line) {
    const int64_t outer = line / args.inner;
    const int64_t inner = line % args.inner;
    const T* x = static_cast<const T*>(args.x.data) + outer * args.extent * args.inner + inner;
    select(x, args.inner, args, keys);
    if (args.sorted) {
      std::sort(keys, keys + args.k, std::greater<>());
    } else {
      std::sort(keys, keys + args.k,
                [](uint64_t a, uint64_t b) { return position_of(a) < position_of(b); });
    }
    for (int64_t i = 0; i < args.k; ++i) {
      const int64_t to = (outer * args.k + i) * args.inner + inner;
      const int32_t position = position_of(keys[i]);
      args.indices[to] = position;
      static_cast<T*>(args.values.data)[to] = x[position * args.inner];
    }
  }
}

}  // namespace

void top_k(const TopK& args) {
  if (args.k == 0) {
    return;
  }
  parallel_rows(args.outer * args.inner, args.extent, [&](int64_t begin, int64_t end) {
    switch (args.x.dtype) {
      case DType::f32:
        return top_k_lines<float>(args, begin, end);
      case DType::bf16:
        return top_k_lines<bf16>(args, begin, end);
      case DType::i32:
        return top_k_lines<int32_t>(args, begin, end);
      case DType::i8:
        return top_k_lines<int8_t>(args, begin, end);
    }
  });
}

}  // namespace heed::kernels
