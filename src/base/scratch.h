// Working memory of kernels: one growing buffer per thread and purpose, kept between calls, so that
// a kernel allocates nothing once it has seen its largest size.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace heed {

// Declare as `thread_local Scratch scratch;` inside the function or file that uses it.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(data_); }

  // At least `count` elements, aligned to a cache line. Contents are not kept.
  template <typename T>
  T* get(size_t count) {
    return static_cast<T*>(bytes(count * sizeof(T)));
  }

 private:
  void* bytes(size_t wanted) {
    if (wanted > size_) {
      std::free(data_);
      size_ = (wanted + 4095) / 4096 * 4096;
      data_ = std::aligned_alloc(4096, size_);
      if (data_ == nullptr) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_;
  }

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace heed
