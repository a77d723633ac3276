#include "mesh/group.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace heed {
namespace {

void narrow(std::span<const float> from, std::span<bf16> to) {
  for (size_t i = 0; i < from.size(); ++i) {
    to[i] = bf16(from[i]);
  }
}

// to += from, or to = from.
template <typename T>
void add(std::span<const T> from, std::span<float> to, bool first) {
  if (first) {
    std::transform(from.begin(), from.end(), to.begin(), [](T value) { return float(value); });
    return;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    to[i] += float(from[i]);
  }
}

template <typename T>
std::span<T> part_of(std::span<T> values, const Bounds& bounds, int member) {
  const auto begin = static_cast<size_t>(bounds[static_cast<size_t>(member)]);
  const auto end = static_cast<size_t>(bounds[static_cast<size_t>(member) + 1]);
  return values.subspan(begin, end - begin);
}

}  // namespace

Bounds equal_bounds(int64_t count, int members) {
  Bounds bounds;
  for (int member = 0; member <= members; ++member) {
    bounds.push_back(count * member / members);
  }
  return bounds;
}

Group::Group(Transport& transport, std::vector<int> ranks, int channel)
    : transport_(&transport), ranks_(std::move(ranks)), channel_(channel) {
  const auto own = std::find(ranks_.begin(), ranks_.end(), transport.rank());
  check(own != ranks_.end(), "[mesh] process {} is not a member of its own group",
        transport.rank());
  index_ = static_cast<int>(own - ranks_.begin());
}

template <typename T>
std::vector<T> Group::collect(std::span<const T> values, const Bounds& bounds) const {
  const size_t each = part_of(values, bounds, index_).size();
  std::vector<T> received(each * (ranks_.size() - 1));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int member = 0; member < size(); ++member) {
    if (member == index_) {
      continue;
    }
    const int rank = ranks_[static_cast<size_t>(member)];
    const std::span<const T> theirs = part_of(values, bounds, member);
    if (!theirs.empty()) {
      out.push_back({rank, theirs.data(), theirs.size_bytes()});
    }
    if (each > 0) {
      in.push_back({rank, received.data() + static_cast<size_t>(others_before(member)) * each,
                    each * sizeof(T)});
    }
  }
  transport_->exchange(out, in, channel_);
  return received;
}

void Group::reduce_scatter(std::span<float> values, const Bounds& bounds, DType wire) const {
  if (alone()) {
    return;
  }
  const std::span<float> own = part_of(values, bounds, index_);
  std::vector<float> sum(own.size());
  const auto add_up = [&](const auto& received) {
    for (int member = 0; member < size(); ++member) {
      if (member == index_) {
        add(std::span<const float>(own), sum, member == 0);
      } else {
        add(std::span(received).subspan(static_cast<size_t>(others_before(member)) * own.size(),
                                        own.size()),
            sum, member == 0);
      }
    }
  };
  if (wire == DType::bf16) {
    std::vector<bf16> sent(values.size());
    narrow(values, sent);
    const std::vector<bf16> received = collect(std::span<const bf16>(sent), bounds);
    add_up(received);
  } else {
    const std::vector<float> received = collect(std::span<const float>(values), bounds);
    add_up(received);
  }
  std::copy(sum.begin(), sum.end(), own.begin());
}

void Group::reduce_scatter(std::span<bf16> values, const Bounds& bounds) const {
  if (alone()) {
    return;
  }
  const std::span<bf16> own = part_of(values, bounds, index_);
  const std::vector<bf16> received = collect(std::span<const bf16>(values), bounds);
  std::vector<float> sum(own.size());
  for (int member = 0; member < size(); ++member) {
    const std::span<const bf16> part =
        member == index_ ? std::span<const bf16>(own)
                         : std::span(received).subspan(
                               static_cast<size_t>(others_before(member)) * own.size(), own.size());
    add(part, sum, member == 0);
  }
  narrow(sum, own);
}

template <typename T>
void Group::gather_parts(std::span<T> values, const Bounds& bounds) const {
  if (alone()) {
    return;
  }
  const std::span<const T> own = part_of(values, bounds, index_);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int member = 0; member < size(); ++member) {
    const int rank = ranks_[static_cast<size_t>(member)];
    const std::span<T> theirs = part_of(values, bounds, member);
    if (member == index_) {
      continue;
    }
    if (!own.empty()) {
      out.push_back({rank, own.data(), own.size_bytes()});
    }
    if (!theirs.empty()) {
      in.push_back({rank, theirs.data(), theirs.size_bytes()});
    }
  }
  transport_->exchange(out, in, channel_);
}

void Group::all_gather(std::span<float> values, const Bounds& bounds) const {
  gather_parts(values, bounds);
}
void Group::all_gather(std::span<bf16> values, const Bounds& bounds) const {
  gather_parts(values, bounds);
}

void Group::all_reduce(std::span<float> values, DType wire) const {
  const Bounds bounds = equal_bounds(std::ssize(values), size());
  reduce_scatter(values, bounds, wire);
  if (wire == DType::f32 || alone()) {
    gather_parts(values, bounds);
    return;
  }
  // The sum is rounded for the way back, on the member that made it too: all have the same bits.
  std::vector<bf16> sums(values.size());
  narrow(part_of(values, bounds, index_), part_of(std::span(sums), bounds, index_));
  gather_parts(std::span(sums), bounds);
  add(std::span<const bf16>(sums), values, true);
}

void Group::all_reduce(std::span<bf16> values) const {
  const Bounds bounds = equal_bounds(std::ssize(values), size());
  reduce_scatter(values, bounds);
  gather_parts(values, bounds);
}

void Group::all_to_all(std::span<const std::byte> parts, std::span<std::byte> received) const {
  check(parts.size() == received.size() && parts.size() % ranks_.size() == 0,
        "[mesh] all_to_all sends {} bytes and receives {}, expected as many, in {} equal pieces",
        parts.size(), received.size(), ranks_.size());
  const size_t each = parts.size() / ranks_.size();
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (size_t member = 0; member < ranks_.size(); ++member) {
    if (static_cast<int>(member) == index_) {
      std::memcpy(received.data() + member * each, parts.data() + member * each, each);
    } else {
      out.push_back({ranks_[member], parts.data() + member * each, each});
      in.push_back({ranks_[member], received.data() + member * each, each});
    }
  }
  if (!alone() && each > 0) {
    transport_->exchange(out, in, channel_);
  }
}

void Group::broadcast(std::span<std::byte> data, int root) const {
  if (alone() || data.empty()) {
    return;
  }
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  if (index_ == root) {
    for (const int rank : ranks_) {
      if (rank != ranks_[static_cast<size_t>(root)]) {
        out.push_back({rank, data.data(), data.size()});
      }
    }
  } else {
    in.push_back({ranks_[static_cast<size_t>(root)], data.data(), data.size()});
  }
  transport_->exchange(out, in, channel_);
}

void Group::barrier() const { gather(0.0); }

std::vector<double> Group::gather(double value) const {
  std::vector<double> all(ranks_.size(), value);
  std::vector<double> copies(ranks_.size(), value);
  all_to_all(std::as_bytes(std::span(copies)), std::as_writable_bytes(std::span(all)));
  return all;
}

double Group::sum(double value) const {
  double total = 0.0;
  for (const double each : gather(value)) {
    total += each;
  }
  return total;
}

double Group::max(double value) const {
  const std::vector<double> all = gather(value);
  return *std::max_element(all.begin(), all.end());
}

std::string Group::broadcast_text(std::string_view text, int root) const {
  auto size = static_cast<uint64_t>(text.size());
  broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  std::string result(size, '\0');
  if (index_ == root) {
    result = text;
  }
  broadcast(std::as_writable_bytes(std::span(result)), root);
  return result;
}

void Group::send(std::string_view text, int to) const {
  const auto size = static_cast<uint64_t>(text.size());
  const int rank = ranks_[static_cast<size_t>(to)];
  std::vector<Outgoing> out{{rank, &size, sizeof(size)}};
  if (!text.empty()) {
    out.push_back({rank, text.data(), text.size()});
  }
  transport_->exchange(out, {}, channel_);
}

std::string Group::receive(int from) const {
  const int rank = ranks_[static_cast<size_t>(from)];
  uint64_t size = 0;
  const Incoming head{rank, &size, sizeof(size)};
  transport_->exchange({}, std::span(&head, 1), channel_);
  std::string text(size, '\0');
  if (size > 0) {
    const Incoming body{rank, text.data(), text.size()};
    transport_->exchange({}, std::span(&body, 1), channel_);
  }
  return text;
}

std::vector<std::string> Group::gather(std::string_view text) const {
  std::vector<std::string> all;
  for (int member = 0; member < size(); ++member) {
    all.push_back(broadcast_text(text, member));
  }
  return all;
}

}  // namespace heed
