#include "base/interrupt.h"

#include <omp.h>

#include <utility>

namespace heed {
namespace {

thread_local const std::atomic<bool>* requested = nullptr;

}  // namespace

InterruptScope::InterruptScope(const std::atomic<bool>& stop)
    : outer_(std::exchange(requested, &stop)) {}

InterruptScope::~InterruptScope() { requested = outer_; }

void interrupt_point() {
  // No exception may leave a parallel region, of which this thread is then a part.
  if (requested != nullptr && requested->load(std::memory_order_relaxed) &&
      omp_in_parallel() == 0) {
    throw Interrupted();
  }
}

}  // namespace heed
