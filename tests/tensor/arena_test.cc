#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace heed {
namespace {

TEST(Arena, ReusesWhatIsFreed) {
  Arena arena;
  Block* a = arena.allocate(1000);
  Block* b = arena.allocate(5000);
  const size_t reserved = arena.reserved_bytes();
  arena.release(a);
  arena.release(b);
  EXPECT_EQ(arena.live_bytes(), 0U);
  Block* c = arena.allocate(6000);  // the two merged
  EXPECT_EQ(arena.reserved_bytes(), reserved);
  arena.release(c);
}

TEST(Arena, RefusesWhatNoMachineHas) {
  Arena arena;
  EXPECT_THROW(arena.allocate(size_t{1} << 60), Error);
}

// Blocks of random sizes come and go; contents must never overlap, and everything must merge again.
TEST(Arena, RandomTraffic) {
  Arena arena;
  const RandomStream random{3, 4};
  struct Held {
    Block* block;
    size_t bytes;
    int mark;
  };
  std::vector<Held> held;
  for (uint64_t i = 0; i < 4000; ++i) {
    if (held.size() < 50 && random.bits(3 * i) % 3 != 0) {
      const size_t bytes = random.bits(3 * i + 1) % 20000;
      Block* block = arena.allocate(bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0U);
      std::memset(block->data(), static_cast<int>(i % 251), bytes);
      held.push_back({block, bytes, static_cast<int>(i % 251)});
    } else if (!held.empty()) {
      const size_t which = random.bits(3 * i + 2) % held.size();
      const Held gone = held[which];
      const auto* data = static_cast<const unsigned char*>(gone.block->data());
      for (size_t j = 0; j < gone.bytes; j += 97) {
        ASSERT_EQ(data[j], gone.mark);
      }
      arena.release(gone.block);
      held.erase(held.begin() + static_cast<int64_t>(which));
    }
  }
  for (const Held& rest : held) {
    arena.release(rest.block);
  }
  EXPECT_EQ(arena.live_bytes(), 0U);
  const size_t reserved = arena.reserved_bytes();
  arena.release(arena.allocate(reserved - sizeof(Block)));
  EXPECT_EQ(arena.reserved_bytes(), reserved);
}

}  // namespace
}  // namespace heed
