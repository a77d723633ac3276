// Memory for tensors: one reserved range of addresses, cut into blocks with boundary tags.
//
// A freed block merges with its free neighbours and is handed out again, so memory that a backward
// pass gives back (activations no longer needed) becomes the gradients it allocates next. The range
// only grows: once a training step has run, the same step finds all its blocks in it and neither
// calls malloc nor the kernel.
//
// The block's header doubles as the reference count of the tensors that share it. Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace heed {

class Arena;

// 64 bytes in front of each block's data, which is therefore aligned to a cache line.
struct alignas(64) Block {
  size_t size;       // of the data, a multiple of 64
  size_t prev_size;  // of the block before this one; 0 for the first
  Block* next_free;
  Block* prev_free;
  Arena* arena;
  std::atomic<int32_t> references;
  bool free;

  void* data() { return this + 1; }
};
static_assert(sizeof(Block) == 64);

class Arena {
 public:
  // The arena that tensors live in. Never destroyed: tensors may outlive main().
  static Arena& global();

  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Block* allocate(size_t bytes);  // one reference; throws Error when the memory is not there
  void release(Block* block);     // drops a reference and frees at zero

  size_t live_bytes() const { return live_; }
  size_t peak_bytes() const { return peak_; }     // of live_bytes, since reset_peak
  size_t reserved_bytes() const { return top_; }  // handed out at least once: what stays resident
  void reset_peak() { peak_ = live_; }

 private:
  static constexpr int kBins = 96;
  static int bin_of(size_t size);
  Block* find_free(size_t size);
  Block* extend(size_t size);
  void split(Block* block, size_t size);
  Block* after(Block* block);
  Block* before(Block* block);
  void link(Block* block);
  void unlink(Block* block);

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  size_t reserved_ = 0;
  size_t top_ = 0;
  Block* last_ = nullptr;
  size_t live_ = 0;
  size_t peak_ = 0;
  std::array<Block*, kBins> bins_{};
};

}  // namespace heed
