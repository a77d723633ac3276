// Work that can be given up between two of its parts, because somebody asked for it (Ctrl-C).
//
// While an InterruptScope lives on a thread, interrupt_point() throws Interrupted as soon as the
// scope's flag is set; without one it does nothing. Points are where a tensor is made, and so
// between any two ops, and where a thread waits for data. Whoever opens a scope catches Interrupted
// and sees to it that nothing half-done is kept; code in between only has to be safe when an
// exception passes.
#pragma once

#include <atomic>
#include <exception>

namespace heed {

// Not an Error: nobody did anything wrong.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

class InterruptScope {
 public:
  explicit InterruptScope(const std::atomic<bool>& stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

void interrupt_point();

}  // namespace heed
