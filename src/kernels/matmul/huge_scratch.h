// Internal to the matrix products: scratch memory for packed operands. Belongs to one thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace heed::panels {

// Memory that only grows, on 2 MiB pages where the kernel grants them: packed operands are walked
// too fast for 4 KiB pages. The contents do not survive growth.
class HugeScratch {
 public:
  void* get(size_t bytes) {
    if (bytes > size_) {
      const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      memory_.reset();
      size_ = 0;
      memory_.reset(std::aligned_alloc(kAlignment, rounded));
      if (memory_ == nullptr) {
        throw std::bad_alloc();
      }
      madvise(memory_.get(), rounded, MADV_HUGEPAGE);  // a hint: failure costs speed only
      size_ = rounded;
    }
    return memory_.get();
  }

 private:
  static constexpr size_t kAlignment = size_t{2} << 20;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  size_t size_ = 0;
};

}  // namespace heed::panels
