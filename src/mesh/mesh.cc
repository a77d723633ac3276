#include "mesh/mesh.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"

namespace heed {
namespace {

constexpr std::array<std::string_view, 4> kDimensions = {"batch", "heads", "hidden", "vocabulary"};

// The pairs of "a:x,b:y".
std::vector<std::pair<std::string, std::string>> parse_pairs(std::string_view text,
                                                             std::string_view what) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const size_t colon = item.find(':');
    check(colon != std::string_view::npos && colon > 0 && colon + 1 < item.size(),
          "[mesh] {} has '{}', expected NAME:VALUE, such as batch:2 or heads:model", what, item);
    pairs.emplace_back(item.substr(0, colon), item.substr(colon + 1));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return pairs;
}

// Ranks that differ from this process in the axis at `position` alone.
std::vector<int> neighbours(const std::vector<MeshAxis>& axes, size_t position, int rank) {
  int stride = 1;
  for (size_t i = axes.size() - 1; i > position; --i) {
    stride *= axes[i].size;
  }
  const int first = rank - axes[position].index * stride;
  std::vector<int> ranks;
  for (int i = 0; i < axes[position].size; ++i) {
    ranks.push_back(first + i * stride);
  }
  return ranks;
}

}  // namespace

std::vector<MeshAxis> parse_axes(std::string_view text) {
  std::vector<MeshAxis> axes;
  for (const auto& [name, value] : parse_pairs(text, "mesh.axes")) {
    MeshAxis axis{.name = name, .size = 0, .index = 0};
    const auto result = std::from_chars(value.data(), value.data() + value.size(), axis.size);
    check(result.ec == std::errc() && result.ptr == value.data() + value.size() && axis.size >= 1,
          "[mesh] axis {} has the size '{}', expected a number from 1 on", name, value);
    check(std::none_of(axes.begin(), axes.end(),
                       [&](const MeshAxis& other) { return other.name == axis.name; }),
          "[mesh] mesh.axes has {} twice", name);
    axes.push_back(axis);
  }
  return axes;
}

std::map<std::string, std::string> parse_layout(std::string_view text) {
  std::map<std::string, std::string> layout;
  for (const auto& [dimension, axis] : parse_pairs(text, "mesh.layout")) {
    check(std::find(kDimensions.begin(), kDimensions.end(), dimension) != kDimensions.end(),
          "[mesh] mesh.layout splits '{}', expected batch, heads, hidden or vocabulary", dimension);
    check(layout.emplace(dimension, axis).second, "[mesh] mesh.layout splits {} twice", dimension);
  }
  return layout;
}

Mesh::Mesh() : groups_(1) {}

const Mesh& Mesh::single() {
  static const auto* mesh = new Mesh;
  return *mesh;
}

Mesh::Mesh(Transport& transport, const MeshConfig& config)
    : config_(config), axes_(parse_axes(config.axes)), layout_(parse_layout(config.layout)) {
  if (axes_.empty()) {
    axes_.push_back({.name = "batch", .size = transport.size(), .index = 0});
  }
  int processes = 1;
  for (const MeshAxis& axis : axes_) {
    processes *= axis.size;
  }
  check(processes == transport.size(),
        "[mesh] the mesh {} has {} processes, and {} were started: start as many with mpirun -n",
        config.axes.empty() ? describe() : config.axes, processes, transport.size());
  int rest = transport.rank();
  for (size_t i = axes_.size(); i-- > 0;) {
    axes_[i].index = rest % axes_[i].size;
    rest /= axes_[i].size;
  }
  std::vector<int> everybody(static_cast<size_t>(transport.size()));
  for (size_t i = 0; i < everybody.size(); ++i) {
    everybody[i] = static_cast<int>(i);
  }
  int channel = 0;
  groups_.emplace_back(transport, everybody, channel++);
  for (int twice = 0; twice < 2; ++twice) {
    for (size_t i = 0; i < axes_.size(); ++i) {
      groups_.emplace_back(transport, neighbours(axes_, i, transport.rank()), channel++);
    }
  }
  transport.set_deadline(config.deadline);
}

const MeshAxis* Mesh::axis_of(std::string_view dimension) const {
  const auto rule = layout_.find(std::string(dimension));
  const auto axis = std::find_if(axes_.begin(), axes_.end(), [&](const MeshAxis& each) {
    return rule != layout_.end() && each.name == rule->second;
  });
  return axis == axes_.end() || axis->size == 1 ? nullptr : &*axis;
}

const Group& Mesh::along(std::string_view dimension) const {
  const MeshAxis* axis = axis_of(dimension);
  return axis == nullptr ? single_ : groups_[1 + static_cast<size_t>(axis - axes_.data())];
}

const Group& Mesh::beside(std::string_view dimension) const {
  const MeshAxis* axis = axis_of(dimension);
  return axis == nullptr ? single_
                         : groups_[1 + axes_.size() + static_cast<size_t>(axis - axes_.data())];
}

Part Mesh::part(std::string_view dimension, int64_t total, bool uneven) const {
  const Group& group = along(dimension);
  if (group.alone() || (!uneven && total % group.size() != 0)) {
    return {.begin = 0, .end = total, .total = total};
  }
  const Bounds bounds = equal_bounds(total, group.size());
  const auto index = static_cast<size_t>(group.index());
  return {.begin = bounds[index], .end = bounds[index + 1], .total = total, .group = &group};
}

bool Mesh::splits_model() const {
  return std::any_of(kDimensions.begin() + 1, kDimensions.end(),
                     [&](std::string_view dimension) { return !along(dimension).alone(); });
}

std::string Mesh::describe() const {
  std::string text;
  for (const MeshAxis& axis : axes_) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

}  // namespace heed
