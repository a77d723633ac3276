#include "text/compression/ppm.h"

#include <bitset>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kBytes = 256;
constexpr uint32_t kEmpty = 1;  // the node of the empty string

// Bytes that longer contexts have ruled out.
using Excluded = std::bitset<kBytes>;

// Without any context, all bytes that are left are equally likely.
CodingStep step_without_context(uint8_t byte, const Excluded& excluded) {
  uint64_t before = 0;
  for (size_t other = 0; other < byte; ++other) {
    before += excluded[other] ? 0 : 1;
  }
  return {before, before + 1, kBytes - excluded.count()};
}

double bits_of(const std::vector<CodingStep>& steps) {
  double bits = 0.0;
  for (const CodingStep& step : steps) {
    bits += std::log2(static_cast<double>(step.total) / static_cast<double>(step.high - step.low));
  }
  return bits;
}

}  // namespace

Ppm::Ppm(int order) : order_(order), nodes_(2), context_(kEmpty) {
  check(0 <= order && order <= kMostOrder, "[ppm] the order is {}, expected 0 to {}", order,
        kMostOrder);
}

uint32_t Ppm::find(uint32_t parent, uint8_t byte) const {
  uint32_t child = nodes_[parent].child;
  while (child != 0 && nodes_[child].byte != byte) {
    child = nodes_[child].next;
  }
  return child;
}

uint32_t Ppm::find_or_add(uint32_t parent, uint8_t byte) {
  const uint32_t found = find(parent, byte);
  if (found != 0) {
    return found;
  }
  check(nodes_.size() < std::numeric_limits<uint32_t>::max(),
        "[ppm] the text has more than {} contexts: use a lower order", nodes_.size());
  const auto added = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.next = nodes_[parent].child, .byte = byte});
  nodes_[parent].child = added;
  return added;
}

uint32_t Ppm::add_steps(uint8_t byte, std::vector<CodingStep>& steps) const {
  Excluded excluded;
  for (uint32_t context = context_; context != 0; context = nodes_[context].shorter) {
    const Excluded before = excluded;
    uint64_t total = 0;
    uint64_t distinct = 0;
    CodingStep own;
    for (uint32_t child = nodes_[context].child; child != 0; child = nodes_[child].next) {
      const Node& node = nodes_[child];
      if (before[node.byte]) {
        continue;
      }
      const uint64_t weight = 2 * uint64_t{node.count} - 1;
      if (node.byte == byte) {
        own = {total, total + weight, 0};
      }
      total += weight;
      ++distinct;
      excluded.set(node.byte);
    }
    if (distinct == 0) {
      continue;  // all that followed is ruled out: there is nothing to say
    }
    const uint64_t escape = excluded.all() ? 0 : distinct;
    if (own.high > 0) {
      steps.push_back({own.low, own.high, total + escape});
      return context;
    }
    steps.push_back({total, total + escape, total + escape});
  }
  steps.push_back(step_without_context(byte, excluded));
  return 0;
}

std::vector<CodingStep> Ppm::steps(uint8_t byte) const {
  std::vector<CodingStep> steps;
  add_steps(byte, steps);
  return steps;
}

double Ppm::probability(uint8_t byte) const { return std::exp2(-bits_of(steps(byte))); }

void Ppm::learn(uint8_t byte) {
  std::vector<CodingStep> steps;
  learn_from(byte, add_steps(byte, steps));
}

// From the longest context down to the one that knew the byte. Each of them has it from now on, and
// so the next context is found along the way.
void Ppm::learn_from(uint8_t byte, uint32_t known) {
  uint32_t longer = 0;  // what the context before has become
  uint32_t longest = 0;
  for (uint32_t context = context_; context != 0; context = nodes_[context].shorter) {
    const uint32_t child = find_or_add(context, byte);
    ++nodes_[child].count;
    if (longer != 0) {
      nodes_[longer].shorter = child;
    }
    if (context == kEmpty) {
      nodes_[child].shorter = kEmpty;
    }
    longest = longest == 0 ? child : longest;
    longer = child;
    if (context == known) {
      break;
    }
  }
  const bool full = length_ == order_;
  context_ = full ? nodes_[longest].shorter : longest;
  length_ = full ? length_ : length_ + 1;
}

double Ppm::code(std::string_view text) {
  double bits = 0.0;
  std::vector<CodingStep> steps;
  for (const char c : text) {
    steps.clear();
    const auto byte = static_cast<uint8_t>(c);
    const uint32_t known = add_steps(byte, steps);
    bits += bits_of(steps);
    learn_from(byte, known);
  }
  return bits;
}

}  // namespace heed
