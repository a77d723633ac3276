#include "text/piece_trie.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kMostSlots = size_t{1} << 23U;  // so that an edge has 32 bits
constexpr uint32_t kNoEdge = UINT32_MAX;         // leads to the root

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first -
      a.begin());
}

}  // namespace

PieceTrie::PieceTrie(const std::vector<std::string>& pieces, std::string_view where) {
  std::vector<uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return pieces[a] < pieces[b]; });
  size_t nodes = 1;
  std::string_view before;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& piece = pieces[order[i]];
    check(i == 0 || piece != before, "[{}] pieces {} and {} are both \"{}\"", where,
          order[i > 0 ? i - 1 : 0], order[i], piece);
    nodes += piece.size() - common_prefix(before, piece);
    before = piece;
  }
  const size_t slots = std::bit_ceil(2 * nodes);  // half of them stay free: searches are short
  check(slots <= kMostSlots, "[{}] the pieces have {} bytes, expected at most {}", where, nodes,
        kMostSlots / 2);
  slots_.resize(slots);
  shift_ = 32U - static_cast<unsigned>(std::countr_zero(slots));
  slots_[kRoot].edge = kNoEdge;
  for (const uint32_t id : order) {
    Node node = kRoot;
    for (const char c : pieces[id]) {
      const uint32_t edge = edge_of(node, c);
      node = slot_of(edge);
      slots_[node].edge = edge;
    }
    slots_[node].id = static_cast<int32_t>(id);
  }
}

PieceTrie::Node PieceTrie::slot_of(uint32_t edge) const {
  constexpr uint32_t kGoldenRatio = 0x9E3779B9;
  Node at = (edge * kGoldenRatio) >> shift_;
  while (slots_[at].edge != edge && slots_[at].edge != 0) {
    at = (at + 1) & static_cast<Node>(slots_.size() - 1);
  }
  return at;
}

std::optional<PieceTrie::Node> PieceTrie::walk(Node from, std::string_view text) const {
  for (const char c : text) {
    from = slot_of(edge_of(from, c));
    if (slots_[from].edge == 0) {
      return std::nullopt;
    }
  }
  return from;
}

std::optional<int32_t> PieceTrie::find(std::string_view piece) const {
  const std::optional<Node> node = walk(kRoot, piece);
  return node && slots_[*node].id >= 0 ? std::optional(slots_[*node].id) : std::nullopt;
}

PieceTrie::Match PieceTrie::longest(Node from, std::string_view text) const {
  Match match;
  for (size_t i = 0; i < text.size(); ++i) {
    from = slot_of(edge_of(from, text[i]));
    const Slot& slot = slots_[from];
    if (slot.edge == 0) {
      break;
    }
    if (slot.id >= 0) {
      match = {slot.id, i + 1};
    }
  }
  return match;
}

}  // namespace heed
