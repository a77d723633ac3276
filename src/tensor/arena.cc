#include "tensor/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>

#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kHeader = sizeof(Block);

}  // namespace

Arena& Arena::global() {
  static Arena* arena = new Arena;
  return *arena;
}

Arena::Arena() {
  const size_t memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // Addresses cost nothing until touched; a machine that limits them gets a smaller range.
  for (reserved_ = std::bit_ceil(memory) * 2; reserved_ >= (size_t{64} << 20); reserved_ /= 2) {
    void* range = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) {
      base_ = static_cast<std::byte*>(range);
      madvise(range, reserved_, MADV_HUGEPAGE);  // advice: where the kernel has none, 4 KiB pages
      return;
    }
  }
  fail("[arena] cannot reserve 64 MiB of addresses; raise the limit (ulimit -v)");
}

Arena::~Arena() { munmap(base_, reserved_); }

int Arena::bin_of(size_t size) {
  // Two bins a power of two.
  const int log = std::bit_width(size) - 1;
  return std::min(kBins - 1, 2 * (log - 6) + static_cast<int>((size >> (log - 1)) & 1));
}

Block* Arena::after(Block* block) {
  if (block == last_) {
    return nullptr;
  }
  return reinterpret_cast<Block*>(static_cast<std::byte*>(block->data()) + block->size);
}

Block* Arena::before(Block* block) {
  if (block->prev_size == 0) {
    return nullptr;
  }
  return reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(block) - block->prev_size - kHeader);
}

void Arena::link(Block* block) {
  Block*& head = bins_[static_cast<size_t>(bin_of(block->size))];
  block->free = true;
  block->prev_free = nullptr;
  block->next_free = head;
  if (head != nullptr) {
    head->prev_free = block;
  }
  head = block;
}

void Arena::unlink(Block* block) {
  if (block->prev_free != nullptr) {
    block->prev_free->next_free = block->next_free;
  } else {
    bins_[static_cast<size_t>(bin_of(block->size))] = block->next_free;
  }
  if (block->next_free != nullptr) {
    block->next_free->prev_free = block->prev_free;
  }
  block->free = false;
}

// The smallest free block that fits: of the first bin that has one, the best of that bin.
Block* Arena::find_free(size_t size) {
  for (size_t bin = static_cast<size_t>(bin_of(size)); bin < bins_.size(); ++bin) {
    Block* best = nullptr;
    for (Block* block = bins_[bin]; block != nullptr; block = block->next_free) {
      if (block->size >= size && (best == nullptr || block->size < best->size)) {
        best = block;
      }
    }
    if (best != nullptr) {
      unlink(best);
      return best;
    }
  }
  return nullptr;
}

Block* Arena::extend(size_t size) {
  // A free block at the end grows instead of being left behind as a hole.
  if (last_ != nullptr && last_->free) {
    unlink(last_);
    top_ -= last_->size + kHeader;
    Block* previous = before(last_);
    last_ = previous;
  }
  const size_t needed = top_ + kHeader + size;
  check(needed <= reserved_, "[arena] {} MiB asked for, but only {} of {} MiB are free", size >> 20,
        (reserved_ - top_) >> 20, reserved_ >> 20);
  Block* block = new (base_ + top_) Block{};
  block->size = size;
  block->prev_size = last_ == nullptr ? 0 : last_->size;
  block->arena = this;
  last_ = block;
  top_ = needed;
  return block;
}

// Gives the tail back when it is large enough to be of use.
void Arena::split(Block* block, size_t size) {
  if (block->size < size + kHeader + kAlign) {
    return;
  }
  Block* next = after(block);
  Block* rest = new (static_cast<std::byte*>(block->data()) + size) Block{};
  rest->size = block->size - size - kHeader;
  rest->prev_size = size;
  rest->arena = this;
  block->size = size;
  if (next != nullptr) {
    next->prev_size = rest->size;
  } else {
    last_ = rest;
  }
  link(rest);
}

Block* Arena::allocate(size_t bytes) {
  check(bytes <= reserved_, "[arena] {} MiB asked for, more than this machine can hold",
        bytes >> 20);
  // Whole huge pages' worth of small tensors would waste memory; a cache line is granular enough.
  const size_t size = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const std::lock_guard lock(mutex_);
  Block* block = find_free(size);
  if (block == nullptr) {
    block = extend(size);
  } else {
    split(block, size);
  }
  block->references.store(1, std::memory_order_relaxed);
  live_ += block->size + kHeader;
  peak_ = std::max(peak_, live_);
  return block;
}

void Arena::release(Block* block) {
  if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  const std::lock_guard lock(mutex_);
  live_ -= block->size + kHeader;
  Block* next = after(block);
  if (next != nullptr && next->free) {
    unlink(next);
    block->size += next->size + kHeader;
    if (next == last_) {
      last_ = block;
    }
  }
  Block* previous = before(block);
  if (previous != nullptr && previous->free) {
    unlink(previous);
    previous->size += block->size + kHeader;
    if (block == last_) {
      last_ = previous;
    }
    block = previous;
  }
  if (Block* following = after(block); following != nullptr) {
    following->prev_size = block->size;
  }
  link(block);
}

}  // namespace heed
