// A training step after warm-up: no allocation of ours, and the same bits on the same threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/panels.h"
#include "models/translation/transformer.h"
#include "ops/loss/cross_entropy.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace {

std::atomic<int64_t> allocations{0};

void* counted(size_t size, size_t align) {
  if (!heed::kernels::inside_onednn()) {
    ++allocations;
  }
  void* result = std::aligned_alloc(align, (std::max(size, size_t{1}) + align - 1) / align * align);
  if (result == nullptr) {
    throw std::bad_alloc();
  }
  return result;
}

}  // namespace

// gcc sees through operator delete and takes free() for a mistake.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(size_t size, std::align_val_t align) {
  return counted(size, static_cast<size_t>(align));
}
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return counted(size, alignof(std::max_align_t));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace heed::testing {
namespace {

struct Trained {
  ParameterStore store;
  Transformer model{store.root(),
                    {.vocabulary = 50,
                     .width = 64,
                     .heads = 4,
                     .hidden = 128,
                     .encoder_layers = 2,
                     .decoder_layers = 2}};
  std::unique_ptr<Optimizer> optimizer;
  Tape tape{3};
  Tensor tokens;

  explicit Trained(DType dtype, const OptimizerConfig& config = {}) {
    store.allocate(dtype, 1);
    optimizer = make_optimizer(store, config);
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 8 * 12; ++i) {
      ids.push_back(i * 7 % 50);
    }
    tokens = Tensor::from_ints(ids, {8, 12});
  }

  void step() {
    tape.clear();
    store.clear_gradients();
    {
      const TapeScope scope(tape);
      tape.backward(cross_entropy(model.decode(tokens, model.encode(tokens)), tokens));
    }
    optimizer->step(1e-4F);
  }
};

class StepTest : public ::testing::TestWithParam<DType> {};

TEST_P(StepTest, AllocatesNothingAfterWarmUp) {
  for (const char* kind : {"adam", "adamw", "adafactor", "sm3", "sgd"}) {
    SCOPED_TRACE(kind);
    Trained trained(GetParam(), {.kind = kind, .weight_decay = 0.01F});
    trained.step();
    trained.step();
    const int64_t before = allocations;
    const size_t reserved = Arena::global().reserved_bytes();
    for (int i = 0; i < 3; ++i) {
      trained.step();
    }
    EXPECT_EQ(allocations - before, 0);
    EXPECT_EQ(Arena::global().reserved_bytes(), reserved);
  }
}

TEST_P(StepTest, SameThreadsSameBits) {
  std::vector<float> weights[2];
  for (std::vector<float>& run : weights) {
    Trained trained(GetParam());
    for (int i = 0; i < 4; ++i) {
      trained.step();
    }
    run = trained.store.values().to_vector();
  }
  EXPECT_EQ(weights[0], weights[1]);
}

// Where bf16 has instructions of its own, no product goes through a library that may split sums.
TEST(StepOnThreads, Bf16TrainsToTheSameBitsOnAnyNumberOfThreads) {
  if (!panels::native()) {
    GTEST_SKIP() << "bf16 products run on oneDNN here";
  }
  const int before = num_threads();
  std::vector<std::vector<float>> weights;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Trained trained(DType::bf16);
    for (int i = 0; i < 4; ++i) {
      trained.step();
    }
    weights.push_back(trained.store.values().to_vector());
  }
  set_num_threads(before);
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
}

INSTANTIATE_TEST_SUITE_P(DTypes, StepTest, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace heed::testing
