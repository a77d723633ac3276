#include "train/gradient_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace heed {

std::vector<GradientBucket> gradient_buckets(const ParameterStore& store, const MeshConfig& mesh) {
  const auto least = static_cast<int64_t>(mesh.bucket * (1 << 20) / sizeof(float));
  const auto& entries = store.entries();
  std::vector<GradientBucket> buckets;
  int64_t end = store.owners().back();
  size_t last = entries.size();
  for (size_t i = entries.size(); i-- > 0;) {
    if (end - entries[i].offset >= least || i == 0) {
      buckets.push_back({.range = {entries[i].offset, end}, .first = i, .last = last});
      end = entries[i].offset;
      last = i;
    }
  }
  return buckets;
}

GradientExchange::GradientExchange(ParameterStore& store, const Mesh& mesh)
    : store_(store),
      group_(mesh.beside("batch")),
      wire_(mesh.config().wire == "bf16" ? DType::bf16 : DType::f32) {
  if (group_.alone()) {
    return;
  }
  buckets_ = gradient_buckets(store, mesh.config());
  thread_ = std::thread([this] { work(); });
}

GradientExchange::~GradientExchange() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
}

void GradientExchange::begin(Tape& tape) {
  if (!group_.alone()) {
    tape.watch_progress([this, &tape] { launch_complete(tape); });
  }
}

void GradientExchange::finish(Tape& tape) {
  tape.watch_progress({});
  if (group_.alone()) {
    return;
  }
  while (launched_ < buckets_.size()) {  // what no backward pass completed
    launch(buckets_[launched_]);
  }
  const auto begin = Clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ == buckets_.size() || error_; });
  launched_ = 0;
  done_ = 0;
  times_.waiting += seconds_since(begin);
  if (error_) {
    std::rethrow_exception(error_);
  }
}

void GradientExchange::launch_complete(const Tape& tape) {
  while (launched_ < buckets_.size() && complete(buckets_[launched_], tape)) {
    launch(buckets_[launched_]);
  }
}

bool GradientExchange::complete(const GradientBucket& bucket, const Tape& tape) const {
  for (size_t i = bucket.first; i < bucket.last; ++i) {
    if (!tape.complete(store_.entries()[i].slot)) {
      return false;
    }
  }
  return true;
}

// Gradients to which nothing contributed are zero.
void GradientExchange::launch(const GradientBucket& bucket) {
  for (size_t i = bucket.first; i < bucket.last; ++i) {
    GradSlot& slot = store_.entries()[i].slot;
    if (!slot.written) {
      std::memset(slot.grad.raw(), 0, slot.grad.bytes());
      slot.written = true;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    ++launched_;
  }
  changed_.notify_all();
}

void GradientExchange::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || (done_ < launched_ && !error_); });
    if (ended_) {
      return;
    }
    const GradientBucket& bucket = buckets_[done_];
    lock.unlock();
    const auto begin = Clock::now();
    std::exception_ptr error;
    try {
      reduce(bucket);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    times_.working += seconds_since(begin);
    error_ = error;
    ++done_;
    changed_.notify_all();
  }
}

void GradientExchange::reduce(const GradientBucket& bucket) const {
  const std::span<float> values = store_.gradients().span<float>().subspan(
      static_cast<size_t>(bucket.range.begin), static_cast<size_t>(bucket.range.size()));
  if (!store_.sharded()) {
    group_.all_reduce(values, wire_);
    return;
  }
  Bounds bounds;  // what each owner has of this bucket
  for (const int64_t owner : store_.owners()) {
    bounds.push_back(std::clamp(owner, bucket.range.begin, bucket.range.end) - bucket.range.begin);
  }
  group_.reduce_scatter(values, bounds, wire_);
}

}  // namespace heed
