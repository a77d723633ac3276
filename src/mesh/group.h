// Processes that compute together, and the collectives between them.
//
// Every member calls the same collectives in the same order with the same sizes. Sums are made in
// the order of the members, whatever arrives first: they have the same bits on every member and in
// every run. A group of one does nothing. One thread calls at a time; a thread that works beside
// another one has a group of its own, which is a channel of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/transport.h"
#include "tensor/dtype.h"

namespace heed {

// Where the parts of the members begin, and where the last one ends: members + 1 numbers.
using Bounds = std::vector<int64_t>;
// Parts that are as equal as can be.
Bounds equal_bounds(int64_t count, int members);

class Group {
 public:
  Group() = default;  // this process alone
  // `ranks` are the members in their order; this process is one of them.
  Group(Transport& transport, std::vector<int> ranks, int channel);

  int size() const { return static_cast<int>(ranks_.size()); }
  int index() const { return index_; }  // of this process among the members
  bool alone() const { return size() == 1; }

  // In place. Member i ends up with the sum over all members in [bounds[i], bounds[i + 1]); the
  // rest is left as it was. With wire = bf16 the summands travel as bf16 and are added in f32.
  void reduce_scatter(std::span<float> values, const Bounds& bounds, DType wire = DType::f32) const;
  void reduce_scatter(std::span<bf16> values, const Bounds& bounds) const;
  // In place. Member i has [bounds[i], bounds[i + 1]), and everybody ends up with everything.
  void all_gather(std::span<float> values, const Bounds& bounds) const;
  void all_gather(std::span<bf16> values, const Bounds& bounds) const;
  // In place: the sum over all members, on each of them.
  void all_reduce(std::span<float> values, DType wire = DType::f32) const;
  void all_reduce(std::span<bf16> values) const;
  // Piece i of `parts` goes to member i; piece i of `received` came from there. Pieces are equal.
  void all_to_all(std::span<const std::byte> parts, std::span<std::byte> received) const;
  // From the member `root` to all others.
  void broadcast(std::span<std::byte> data, int root = 0) const;
  void barrier() const;

  double sum(double value) const;
  double max(double value) const;
  std::vector<double> gather(double value) const;                // of every member
  std::vector<std::string> gather(std::string_view text) const;  // likewise
  std::string broadcast_text(std::string_view text, int root = 0) const;
  // Between two members, which have to call these in the same order. send() returns when the other
  // one has begun to receive, or when the text is short enough to wait there.
  void send(std::string_view text, int to) const;
  std::string receive(int from) const;

 private:
  template <typename T>
  void gather_parts(std::span<T> values, const Bounds& bounds) const;
  // The parts of [bounds[i], bounds[i + 1]) that the other members have, one after the other.
  template <typename T>
  std::vector<T> collect(std::span<const T> values, const Bounds& bounds) const;
  int64_t others_before(int member) const { return member < index_ ? member : member - 1; }

  Transport* transport_ = nullptr;
  std::vector<int> ranks_ = {0};
  int index_ = 0;
  int channel_ = 0;
};

}  // namespace heed
