// The one thread pool: OpenMP, which oneDNN uses too, so the two never fight over cores.
//
// Work is split by position only. A reduction whose result must not depend on the number of threads
// uses `fixed_chunks`, which splits by size alone and combines in order.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

namespace heed {

// Threads that a parallel region started now would get; 1 inside a region.
inline int num_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }
void set_num_threads(int threads);

// Below this many element operations a region costs more than it saves.
inline constexpr int64_t kParallelGrain = 16384;

// An exception must not leave a parallel region: it waits here until the region has ended.
class FirstError {
 public:
  template <typename Body>
  void guard(const Body& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = error_ ? error_ : std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Calls body(begin, end) on contiguous pieces of [0, count), at least `grain` long each.
template <typename Body>
void parallel_for(int64_t count, int64_t grain, const Body& body) {
  const int64_t pieces = std::min<int64_t>(num_threads(), count / std::max<int64_t>(grain, 1));
  if (pieces <= 1) {
    if (count > 0) {
      body(int64_t{0}, count);
    }
    return;
  }
  const int threads = static_cast<int>(pieces);
  FirstError error;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    error.guard([&] { body(count * piece / pieces, count * (piece + 1) / pieces); });
  }
  error.rethrow();
}

// Rows of `width` elements each: pieces of rows large enough to be worth a thread.
template <typename Body>
void parallel_rows(int64_t rows, int64_t width, const Body& body) {
  parallel_for(rows, std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(width, 1)), body);
}

// Independent tasks of uneven size, handed out one by one: body(task).
template <typename Body>
void parallel_tasks(int64_t count, const Body& body) {
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), count));
  if (threads <= 1) {
    for (int64_t task = 0; task < count; ++task) {
      body(task);
    }
    return;
  }
  FirstError error;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t task = 0; task < count; ++task) {
    error.guard([&] { body(task); });
  }
  error.rethrow();
}

// How many pieces a reduction over `rows` is split into, whatever the number of threads.
inline int64_t fixed_chunks(int64_t rows) { return std::clamp<int64_t>(rows / 16, 1, 16); }

}  // namespace heed
