#include "text/bpe/bpe_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

namespace heed {
namespace {

// Words are short, and looking through a few numbers is faster than a heap. A longer one, such as a
// book without a space, must not take quadratic time.
constexpr size_t kShort = 64;

}  // namespace

void BpeMerges::reserve(size_t merges) {
  merged_.reserve(merges);
  grow(std::bit_ceil(2 * merges + 2));
}

size_t BpeMerges::slot_of(int32_t left, int32_t right) const {
  const uint64_t pair =
      (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32U) | static_cast<uint32_t>(right);
  const uint64_t hash = (pair ^ (pair >> 29U)) * 0x9E3779B97F4A7C15U;
  const size_t mask = slots_.size() - 1;
  size_t slot = (hash >> 32U) & mask;
  while (slots_[slot].left >= 0 && (slots_[slot].left != left || slots_[slot].right != right)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void BpeMerges::grow(size_t slots) {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.left >= 0) {
      slots_[slot_of(slot.left, slot.right)] = slot;
    }
  }
}

bool BpeMerges::add(int32_t left, int32_t right, int32_t merged) {
  if (2 * (merged_.size() + 1) > slots_.size()) {
    grow(2 * slots_.size());
  }
  Slot& slot = slots_[slot_of(left, right)];
  if (slot.left >= 0) {
    return false;
  }
  slot = {left, right, static_cast<uint32_t>(merged_.size())};
  merged_.push_back(merged);
  return true;
}

size_t BpeMerges::merge(std::span<int32_t> symbols) const {
  return symbols.size() <= kShort ? merge_short(symbols) : merge_long(symbols);
}

size_t BpeMerges::merge_short(std::span<int32_t> symbols) const {
  size_t count = symbols.size();
  std::array<uint32_t, kShort> ranks;  // of a symbol and its right neighbour
  for (size_t i = 0; i + 1 < count; ++i) {
    ranks[i] = rank(symbols[i], symbols[i + 1]);
  }
  while (count > 1) {
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(count) - 1;
    const auto best = std::min_element(ranks.begin(), end);
    if (*best == kNever) {
      break;
    }
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = merged_[*best];
    std::copy(symbols.begin() + at + 2, symbols.begin() + count, symbols.begin() + at + 1);
    std::copy(best + 1, end, best);
    --count;
    if (at > 0) {
      ranks[at - 1] = rank(symbols[at - 1], symbols[at]);
    }
    if (at + 1 < count) {
      ranks[at] = rank(symbols[at], symbols[at + 1]);
    }
  }
  return count;
}

size_t BpeMerges::merge_long(std::span<int32_t> symbols) const {
  // A merged pair lives on at its left place; the right one is taken out of the chain of
  // neighbours.
  const size_t count = symbols.size();
  std::vector<size_t> before(count);
  std::vector<size_t> after(count);
  for (size_t i = 0; i < count; ++i) {
    before[i] = i - 1;
    after[i] = i + 1;
  }
  const auto rank_at = [&](size_t at) {
    return symbols[at] >= 0 && after[at] < count ? rank(symbols[at], symbols[after[at]]) : kNever;
  };
  using Candidate = std::pair<uint32_t, size_t>;  // rank, place
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto propose = [&](size_t at) {
    if (const uint32_t r = rank_at(at); r != kNever) {
      queue.emplace(r, at);
    }
  };
  for (size_t i = 0; i + 1 < count; ++i) {
    propose(i);
  }
  while (!queue.empty()) {
    const auto [best, at] = queue.top();
    queue.pop();
    if (rank_at(at) != best) {
      continue;  // a neighbour's merge came first
    }
    const size_t gone = after[at];
    symbols[at] = merged_[best];
    symbols[gone] = -1;
    after[at] = after[gone];
    if (after[at] < count) {
      before[after[at]] = at;
    }
    propose(at);
    if (at > 0) {
      propose(before[at]);
    }
  }
  return static_cast<size_t>(std::remove(symbols.begin(), symbols.end(), -1) - symbols.begin());
}

}  // namespace heed
