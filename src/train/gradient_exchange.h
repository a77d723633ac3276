// Adds up the gradients of the processes that share a batch, while the backward pass still runs.
//
// The flat array of gradients is cut into buckets of whole parameters. Backward passes go from a
// model's end to its beginning, and so does the exchange: as soon as the tape says that the last
// bucket is complete, a thread of its own adds it up over the processes, in the order of the
// members, and goes on to the bucket before. The order is the same on all processes.
//
// With a sharded store each process receives only the sums that it needs for its own parameters.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "autograd/tape.h"
#include "nn/parameters.h"

namespace heed {

// Where the time of the exchange went, in seconds since the beginning.
struct ExchangeTimes {
  double working = 0.0;  // the thread added up
  double waiting = 0.0;  // the trainer had nothing else to do
  // Share of the exchange that was hidden behind the backward pass.
  double hidden() const { return working > 0.0 ? std::max(0.0, 1.0 - waiting / working) : 1.0; }
};

// Parameters whose gradients are added up together: entries [first, last) of the store.
struct GradientBucket {
  Stretch range;
  size_t first = 0;
  size_t last = 0;
};
// As the mesh asks for them, from the last one to the first. The store is laid out.
std::vector<GradientBucket> gradient_buckets(const ParameterStore& store, const MeshConfig& mesh);

class GradientExchange {
 public:
  GradientExchange(ParameterStore& store, const Mesh& mesh);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  // Before the forward pass of the last batch of a step, on that batch's tape.
  void begin(Tape& tape);
  // After its backward pass: returns when the gradients are those of all processes. A process that
  // had no batch in this step calls it alone.
  void finish(Tape& tape);

  const ExchangeTimes& times() const { return times_; }

 private:
  void launch_complete(const Tape& tape);
  bool complete(const GradientBucket& bucket, const Tape& tape) const;
  void launch(const GradientBucket& bucket);
  void work();
  void reduce(const GradientBucket& bucket) const;

  ParameterStore& store_;
  const Group& group_;
  DType wire_;
  std::vector<GradientBucket> buckets_;  // in the order of the exchange
  ExchangeTimes times_;

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t launched_ = 0;  // buckets of this step
  size_t done_ = 0;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace heed
