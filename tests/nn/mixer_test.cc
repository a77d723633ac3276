// What every mixer promises: the same positions and the same weights with a cache as without, for
// rows that leave and come; and that a layer takes any mixer.
#include "nn/mixer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "nn/attention.h"
#include "nn/block_attention.h"
#include "nn/compressed_attention.h"
#include "nn/segment/segment_attention.h"
#include "nn/transformer.h"
#include "nn/transition/separable_convolution.h"
#include "ops/shape/shape.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

constexpr int64_t kWidth = 16;
constexpr int64_t kHeads = 2;
constexpr int64_t kLength = 12;

Tensor noise(const Shape& shape, uint64_t stream = 0) {
  const RandomStream random{7, stream};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(2.0F * random.uniform(static_cast<uint64_t>(i)) - 1.0F);
  }
  return Tensor::from(values, shape);
}

// Rows of x [B,T,C] at some positions: [n,steps,C].
Tensor pick(const Tensor& x, const std::vector<int64_t>& rows, int64_t begin, int64_t steps) {
  std::vector<Tensor> parts;
  for (const int64_t row : rows) {
    parts.push_back(slice(x.rows(row, row + 1), 1, begin, begin + steps));
  }
  return concat(parts, 0);
}

struct Variant {
  std::string name;
  MixerFactory make;
  bool labelled = false;
  bool prompts = true;  // takes several positions at once
  bool attends = true;  // has weights
};

struct Made {
  ParameterStore store;
  std::unique_ptr<Mixer> mixer;
  explicit Made(const MixerFactory& make, ParameterStore::Use use = ParameterStore::Use::inference)
      : mixer(make(store.root())) {
    store.allocate(DType::f32, 5, use);
  }
};

class MixerTest : public ::testing::TestWithParam<Variant> {
 protected:
  MixerContext context(const std::vector<int64_t>& rows, int64_t begin, int64_t steps) const {
    MixerContext context{.causal = true, .weights = true};
    if (GetParam().labelled) {
      std::vector<int32_t> labels;
      for (const int64_t row : rows) {
        for (int64_t t = begin; t < begin + steps; ++t) {
          labels.push_back(static_cast<int32_t>(t * (row + 3) % 7));
        }
      }
      context.labels = Tensor::from_ints(labels, {std::ssize(rows), steps});
    }
    return context;
  }

  // The next positions of `rows`, as the whole sequences have them.
  void expect_next(const std::vector<int64_t>& rows, int64_t begin, int64_t steps,
                   MixerCache& cache) {
    MixerContext next = context(rows, begin, steps);
    next.caches = {&cache};
    const Mixed mixed = (*made_.mixer)(pick(x_, rows, begin, steps), next);
    EXPECT_LT(error_between(to_array(mixed.y), to_array(pick(whole_.y, rows, begin, steps))), 1e-5)
        << "positions from " << begin;
    if (GetParam().attends) {
      expect_weights(rows, begin, mixed.weights);
    } else {
      EXPECT_FALSE(mixed.weights.defined());
    }
  }

  // Each query's weights as those of the whole; what it cannot see yet is zero there.
  void expect_weights(const std::vector<int64_t>& rows, int64_t begin, const Tensor& found) {
    ASSERT_EQ(found.rank(), 4);
    ASSERT_EQ(found.dim(0), std::ssize(rows));
    ASSERT_EQ(found.dim(1), kHeads);
    const int64_t keys = found.dim(3);
    ASSERT_GE(keys, begin + found.dim(2));
    ASSERT_LE(keys, kLength);
    for (int64_t i = 0; i < found.size(); ++i) {
      const int64_t query = begin + i / keys % found.dim(2);
      const int64_t head = i / (keys * found.dim(2)) % kHeads;
      const int64_t row = rows[static_cast<size_t>(i / (keys * found.dim(2) * kHeads))];
      const int64_t at = ((row * kHeads + head) * kLength + query) * kLength + i % keys;
      EXPECT_NEAR(found.data<float>()[i], whole_.weights.data<float>()[at], 1e-5)
          << "row " << row << " query " << query << " key " << i % keys;
    }
  }

  // The same for rows that stand at different positions and go on by different lengths; what is
  // behind them is padding.
  void expect_next_of_each(const std::vector<int64_t>& begin, const std::vector<int64_t>& lengths,
                           MixerCache& cache) {
    const int64_t steps = *std::max_element(lengths.begin(), lengths.end());
    const std::vector<int32_t> counts(lengths.begin(), lengths.end());
    MixerContext next{.causal = true,
                      .lengths = Tensor::from_ints(counts, {std::ssize(counts)}),
                      .caches = {&cache},
                      .stepwise = true};
    std::vector<Tensor> x;
    std::vector<Tensor> labels;
    for (int64_t row = 0; row < std::ssize(begin); ++row) {
      const auto r = static_cast<size_t>(row);
      x.push_back(concat({pick(x_, {row}, begin[r], lengths[r]), noise({1, steps, kWidth}, 3)}, 1));
      x.back() = slice(x.back(), 1, 0, steps);
      labels.push_back(context({row}, begin[r], steps).labels);
    }
    next.labels = GetParam().labelled ? concat(labels, 0) : Tensor();
    const Tensor y = (*made_.mixer)(concat(x, 0), next).y;
    for (int64_t row = 0; row < std::ssize(begin); ++row) {
      const auto r = static_cast<size_t>(row);
      EXPECT_LT(error_between(to_array(pick(y, {row}, 0, lengths[r])),
                              to_array(pick(whole_.y, {row}, begin[r], lengths[r]))),
                1e-5)
          << "row " << row << " from " << begin[r];
    }
  }

  const Made made_{GetParam().make};
  const Tensor x_ = noise({3, kLength, kWidth});
  const Mixed whole_ = (*made_.mixer)(x_, context({0, 1, 2}, 0, kLength));
};

TEST_P(MixerTest, CachedTheSamePositionsAndWeights) {
  const std::vector<int64_t> all{0, 1, 2};
  const auto cache = made_.mixer->make_cache({.rows = 3});
  int64_t begin = 0;
  if (GetParam().prompts) {
    expect_next(all, 0, 4, *cache);
    expect_next(all, 4, 2, *cache);
    begin = 6;
  }
  for (; begin < kLength; ++begin) {
    expect_next(all, begin, 1, *cache);
  }
  EXPECT_GT(cache->bytes(), 0U);
}

TEST_P(MixerTest, CachedRowsLeaveAndCome) {
  const auto cache = made_.mixer->make_cache({.rows = 2});
  const auto other = made_.mixer->make_cache({.rows = 2});
  for (int64_t begin = 0; begin < 5; ++begin) {
    expect_next({0, 1}, begin, 1, *cache);
    expect_next({2, 0}, begin, 1, *other);
  }
  cache->select(std::vector<int64_t>{1, 0, 1});
  expect_next({1, 0, 1}, 5, 1, *cache);
  other->select(std::vector<int64_t>{0});
  expect_next({2}, 5, 1, *other);
  cache->join(*other);
  expect_next({1, 0, 1, 2}, 6, 1, *cache);
  const auto fresh = made_.mixer->make_cache({});
  fresh->join(*cache);
  for (int64_t begin = 7; begin < kLength; ++begin) {
    expect_next({1, 0, 1, 2}, begin, 1, *fresh);
  }
}

// As blockwise and speculative decoding have it: several positions on trial, of which each row
// keeps some.
TEST_P(MixerTest, CachedRowsTakeSeveralPositionsAndRollBack) {
  if (!GetParam().prompts) {
    GTEST_SKIP() << "one position at a time";
  }
  const auto cache = made_.mixer->make_cache({.rows = 3});
  std::vector<int64_t> at{0, 0, 0};
  const auto advance = [&](const std::vector<int64_t>& lengths, const std::vector<int64_t>& lost) {
    expect_next_of_each(at, lengths, *cache);
    cache->roll_back(lost);
    for (size_t r = 0; r < at.size(); ++r) {
      at[r] += lengths[r] - lost[r];
    }
  };
  advance({2, 1, 3}, {0, 0, 0});
  advance({4, 4, 4}, {3, 0, 2});
  advance({6, 3, 5}, {5, 2, 5});
  advance({1, 1, 1}, {0, 0, 0});
  advance({7, 4, 6}, {0, 0, 0});
  EXPECT_EQ(at, (std::vector<int64_t>{12, 11, 12}));
}

// What a position gets does not tell how many came with it.
TEST_P(MixerTest, StepwisePositionsHaveTheSameBitsAsSteps) {
  if (!GetParam().prompts) {
    GTEST_SKIP() << "one position at a time";
  }
  const Made made(GetParam().make, ParameterStore::Use::batch_invariant);
  const auto single = made.mixer->make_cache({.rows = 1});
  const auto several = made.mixer->make_cache({.rows = 1});
  const auto mixed = [&](int64_t begin, int64_t steps, MixerCache& cache) {
    MixerContext next = context({1}, begin, steps);
    next.caches = {&cache};
    next.weights = false;
    next.stepwise = true;
    return to_array((*made.mixer)(pick(x_, {1}, begin, steps), next).y).values;
  };
  EXPECT_EQ(mixed(0, 2, *single), mixed(0, 2, *several));
  const std::vector<double> together = mixed(2, 10, *several);
  for (int64_t t = 0; t < 10; ++t) {
    const std::vector<double> alone = mixed(2 + t, 1, *single);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + t * kWidth))
        << "position " << 2 + t;
  }
}

TEST_P(MixerTest, WeightsOnlyIfAskedFor) {
  MixerContext quiet = context({0, 1, 2}, 0, kLength);
  quiet.weights = false;
  const Mixed mixed = (*made_.mixer)(x_, quiet);
  EXPECT_FALSE(mixed.weights.defined());
  EXPECT_LT(error_between(to_array(mixed.y), to_array(whole_.y)), 1e-6);
}

TEST_P(MixerTest, RefusesTheCacheOfAnotherMixer) {
  class Nothing : public MixerCache {
   public:
    void select(std::span<const int64_t> /*rows*/) override {}
    void join(const MixerCache& /*more*/) override {}
    void roll_back(std::span<const int64_t> /*dropped*/) override {}
    size_t bytes() const override { return 0; }
  };
  Nothing nothing;
  MixerContext next = context({0}, 0, 1);
  next.caches = {&nothing};
  EXPECT_EQ(error_of([&] { (*made_.mixer)(pick(x_, {0}, 0, 1), next); }),
            "[mixer] the cache is another mixer's");
  EXPECT_EQ(error_of([&] { made_.mixer->make_cache({.rows = 1})->join(nothing); }),
            "[mixer] the cache is another mixer's");
}

Variant self_attention(const char* name, SelfAttentionConfig config) {
  config.width = kWidth;
  config.heads = kHeads;
  return {name, mixer<SelfAttention>(config), config.label_distance > 0};
}

Variant segment_attention(const char* name, int64_t most_distance) {
  return {name, mixer<SegmentAttention>({.width = kWidth,
                                         .heads = kHeads,
                                         .distances = std::make_shared<const Distances>(kWidth),
                                         .most_distance = most_distance})};
}

std::vector<Variant> variants() {
  return {
      self_attention("plain", {}),
      self_attention("window", {.window = 4}),
      self_attention("relative", {.relative_distance = 3}),
      self_attention("per_head", {.relative_distance = 3, .relative_per_head = true}),
      self_attention("labels", {.label_distance = 2}),
      segment_attention("segment", 0),
      segment_attention("segment_distances", 3),
      {"compressed", mixer<CompressedAttention>({.width = kWidth, .heads = kHeads, .stride = 3})},
      {"compressed_by_5",
       mixer<CompressedAttention>({.width = kWidth, .heads = kHeads, .stride = 5})},
      {.name = "separable",
       .make = mixer<SeparableConvolution>({.width = kWidth, .hidden = 24}),
       .attends = false},
      {.name = "separable_by_5",
       .make = mixer<SeparableConvolution>({.width = kWidth, .hidden = 24, .kernel = 5}),
       .attends = false},
      {.name = "blocks",
       .make =
           mixer<BlockAttention>({.width = kWidth,
                                  .heads = kHeads,
                                  .plan = std::make_shared<BlockPlan>(plan_line(kLength, 4, 3))}),
       .prompts = false}};
}

INSTANTIATE_TEST_SUITE_P(Variants, MixerTest, ::testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name; });

// Asked for weights with a cache, a compressed memory once wrote behind their rows.
TEST(CompressedAttention, WeightsOfACacheHaveAColumnForEachPosition) {
  const Made made(mixer<CompressedAttention>({.width = kWidth, .heads = kHeads, .stride = 3}));
  const auto cache = made.mixer->make_cache({.rows = 2});
  const std::vector<int32_t> lengths{5, 4};  // one key is complete in each row
  MixerContext next{.causal = true,
                    .lengths = Tensor::from_ints(lengths, {2}),
                    .caches = {cache.get()},
                    .weights = true};
  EXPECT_EQ((*made.mixer)(noise({2, 5, kWidth}), next).weights.shape(), (Shape{2, kHeads, 5, 5}));
  next.lengths = Tensor();
  for (int64_t length = 6; length < 20; ++length) {
    const Tensor weights =
        (*made.mixer)(noise({2, 1, kWidth}, static_cast<uint64_t>(length)), next).weights;
    ASSERT_EQ(weights.shape(), (Shape{2, kHeads, 1, length}));
    for (int64_t row = 0; row < 2 * kHeads; ++row) {
      const int64_t own = row < kHeads ? length : length - 1;
      double total = 0.0;
      for (int64_t key = 0; key < length; ++key) {
        const float weight = weights.data<float>()[row * length + key];
        EXPECT_EQ(weight > 0.0F, key < own / 3 * 3) << row << " " << key << " of " << length;
        total += weight;
      }
      EXPECT_NEAR(total, 1.0, 1e-5);
    }
  }
}

TEST(CompressedAttention, RefusesWhatItCannotHeed) {
  const Made made(mixer<CompressedAttention>({.width = kWidth, .heads = kHeads}));
  const Tensor x = noise({1, 4, kWidth});
  EXPECT_EQ(error_of([&] { (*made.mixer)(x, {}); }),
            "[attention] a compressed memory needs causal attention");
  EXPECT_EQ(error_of([&] { (*made.mixer)(x, {.causal = true, .window = 2}); }),
            "[attention] a compressed memory has no window and no mask");
  EXPECT_EQ(error_of([&] { made.mixer->make_cache({.most = 4}); }),
            "[attention] a compressed memory keeps every position, expected no limit of 4");
}

TEST(CompressedAttention, TakesBackOnlyWhatCameLast) {
  const Made made(mixer<CompressedAttention>({.width = kWidth, .heads = kHeads}));
  const auto cache = made.mixer->make_cache({.rows = 1});
  const std::vector<int64_t> three{3};
  EXPECT_EQ(error_of([&] { cache->roll_back(three); }),
            "[convolution] only what came last is taken back, before rows leave or come");
  (*made.mixer)(noise({1, 4, kWidth}), {.causal = true, .caches = {cache.get()}});
  (*made.mixer)(noise({1, 2, kWidth}), {.causal = true, .caches = {cache.get()}});
  EXPECT_EQ(error_of([&] { cache->roll_back(three); }),
            "[convolution] row 0 is to lose 3 positions, expected at most the 2 that came last");
  cache->select(std::vector<int64_t>{0});
  EXPECT_EQ(error_of([&] { cache->roll_back(std::vector<int64_t>{1}); }),
            "[convolution] only what came last is taken back, before rows leave or come");
}

// Several positions of a block at once, some of which are taken back: as one by one, to the bit.
TEST(BlockAttention, CachedBlocksTakeSeveralPositionsAndRollBack) {
  const auto plan = std::make_shared<BlockPlan>(plan_line(kLength, 4, 3));
  const Made made(mixer<BlockAttention>({.width = kWidth, .heads = kHeads, .plan = plan}),
                  ParameterStore::Use::batch_invariant);
  const Tensor x = noise({2, kLength, kWidth});
  BlockCache single(2);
  BlockCache several(2);
  const auto mixed = [&](int64_t begin, int64_t steps, BlockCache& cache) {
    return to_array(
        (*made.mixer)(pick(x, {0, 1}, begin, steps), {.caches = {&cache}, .stepwise = true}).y);
  };
  std::vector<Array> expected;
  for (int64_t t = 0; t < kLength; ++t) {
    expected.push_back(mixed(t, 1, single));
  }
  const auto expect_steps = [&](int64_t begin, int64_t steps) {
    const Array found = mixed(begin, steps, several);
    for (int64_t i = 0; i < 2 * steps * kWidth; ++i) {
      const int64_t row = i / (steps * kWidth);
      const Array& step = expected[static_cast<size_t>(begin + i / kWidth % steps)];
      ASSERT_EQ(found.values[static_cast<size_t>(i)],
                step.values[static_cast<size_t>(row * kWidth + i % kWidth)])
          << begin << " " << i;
    }
  };
  expect_steps(0, 4);
  expect_steps(4, 3);
  several.roll_back(std::vector<int64_t>{2, 2});
  EXPECT_EQ(error_of([&] { mixed(5, 4, several); }),
            "[block attention] 4 positions at once, expected at most the 3 that are left of the "
            "block");
  expect_steps(5, 1);
  expect_steps(6, 2);
  expect_steps(8, 2);
  several.roll_back(std::vector<int64_t>{1, 1});
  expect_steps(9, 3);
  EXPECT_EQ(error_of([&] {
              several.roll_back(std::vector<int64_t>{1, 0});
            }),
            "[block attention] rows stand at the same position, expected all to lose 1");
}

TEST(SelfAttention, SeesWhatTheMaskLets) {
  const Made made(mixer<SelfAttention>({.width = kWidth, .heads = kHeads}));
  // A ring: each position sees its neighbours and itself.
  std::vector<int8_t> edges(36);
  for (int64_t i = 0; i < 6; ++i) {
    for (const int64_t j : {i, (i + 1) % 6, (i + 5) % 6}) {
      edges[static_cast<size_t>(i * 6 + j)] = 1;
    }
  }
  const Mixed mixed = (*made.mixer)(noise({2, 6, kWidth}),
                                    {.mask = Tensor::from_bytes(edges, {6, 6}), .weights = true});
  for (int64_t i = 0; i < mixed.weights.size(); ++i) {
    EXPECT_EQ(mixed.weights.data<float>()[i] > 0.0F, edges[static_cast<size_t>(i % 36)] == 1);
  }
}

TEST(SelfAttention, RefusesSeveralCaches) {
  const Made made(mixer<SelfAttention>({.width = kWidth, .heads = kHeads}));
  KvCache first, second;
  EXPECT_EQ(error_of([&] {
              (*made.mixer)(noise({2, 1, kWidth}), {.causal = true, .caches = {&first, &second}});
            }),
            "[attention] 2 caches, expected one");
  EXPECT_EQ(error_of([&] {
              (*made.mixer)(noise({2, 1, kWidth}), {.caches = {&first}});
            }),
            "[attention] a cache needs causal attention");
}

TEST(BlockAttention, CachesAtDifferentPositionsGoOnTogether) {
  const auto plan = std::make_shared<BlockPlan>(plan_line(kLength, 4, 3));
  const Made made(mixer<BlockAttention>({.width = kWidth, .heads = kHeads, .plan = plan}));
  const Tensor x = noise({3, kLength, kWidth});
  const Mixed whole = (*made.mixer)(x, {.weights = true});
  BlockCache early(1);
  BlockCache late(2);
  for (int64_t t = 0; t < 5; ++t) {
    (*made.mixer)(pick(x, {1, 2}, t, 1), {.caches = {&late}});
  }
  EXPECT_EQ(error_of([&] { late.join(BlockCache(1)); }),
            "[block attention] rows at position 5 cannot be joined by rows at 0");
  for (int64_t t = 0; t + 5 < kLength; ++t) {
    const Tensor next = concat({pick(x, {0}, t, 1), pick(x, {1, 2}, t + 5, 1)}, 0);
    const Mixed mixed = (*made.mixer)(next, {.caches = {&early, &late}, .weights = true});
    const Tensor y = concat({pick(whole.y, {0}, t, 1), pick(whole.y, {1, 2}, t + 5, 1)}, 0);
    EXPECT_LT(error_between(to_array(mixed.y), to_array(y)), 1e-5);
    ASSERT_EQ(mixed.weights.shape(), (Shape{3, kHeads, 1, kLength}));
    for (int64_t i = 0; i < mixed.weights.size(); ++i) {
      const int64_t query = i < kHeads * kLength ? t : t + 5;
      const int64_t at = (i / kLength * kLength + query) * kLength + i % kLength;
      EXPECT_NEAR(mixed.weights.data<float>()[i], whole.weights.data<float>()[at], 1e-5);
    }
  }
}

// Another way of mixing: each position gets the mean of those up to it.
class RunningMean : public Mixer {
 public:
  struct Config {
    int64_t width = kWidth;
  };
  struct Cache : MixerCache {
    std::vector<double> sum = std::vector<double>(kWidth);
    int64_t count = 0;
    void select(std::span<const int64_t> /*rows*/) override {}
    void join(const MixerCache& /*more*/) override {}
    void roll_back(std::span<const int64_t> /*dropped*/) override {}
    size_t bytes() const override { return sum.size() * sizeof(double); }
  };
  RunningMean(const Scope& s, const Config& config)
      : gain_(s.param("gain", {config.width}, Init::constant(2.0F))) {}

  Mixed operator()(const Tensor& x, const MixerContext& context) const override {
    Cache fresh;
    Cache& cache = context.caches.empty() ? fresh : cache_as<Cache>(*context.caches.front());
    Tensor y = Tensor::empty(x.shape());
    for (int64_t i = 0; i < x.size(); ++i) {
      const auto c = static_cast<size_t>(i % kWidth);
      cache.count += c == 0 ? 1 : 0;
      cache.sum[c] += x.data<float>()[i];
      y.data<float>()[i] = static_cast<float>(cache.sum[c] / static_cast<double>(cache.count)) *
                           gain_.tensor().data<float>()[c];
    }
    return {y, Tensor()};
  }
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& /*config*/) const override {
    return std::make_unique<Cache>();
  }

 private:
  Parameter gain_;
};

TEST(TransformerLayer, TakesAnyMixer) {
  ParameterStore store;
  const TransformerLayer layer(
      store.root(),
      {.width = kWidth, .mixer = mixer<RunningMean>({}), .hidden = 24, .pre_norm = true});
  store.allocate(DType::f32, 5, ParameterStore::Use::inference);
  EXPECT_EQ(store.find("self_attention.gain").shape, (Shape{kWidth}));
  const Tensor x = noise({1, 6, kWidth});
  const AttentionScope scope;
  const Array whole = to_array(layer({x, Tensor()}, {}).branch);
  EXPECT_TRUE(scope.layers().empty());  // a mean attends to nothing
  const auto cache = layer.make_cache({.rows = 1});
  for (int64_t t = 0; t < 6; ++t) {
    const Array next =
        to_array(layer({pick(x, {0}, t, 1), Tensor()}, {.self = {.caches = {cache.get()}}}).branch);
    for (int64_t c = 0; c < kWidth; ++c) {
      EXPECT_NEAR(next.values[static_cast<size_t>(c)],
                  whole.values[static_cast<size_t>(t * kWidth + c)], 1e-5);
    }
  }
  ParameterStore other;
  EXPECT_EQ(error_of([&] { TransformerLayer(other.root(), LayerConfig()); }),
            "[transformer layer] there is no mixer");
}

// Checkpoints rely on the names, and their moments on the order.
TEST(TransformerLayer, ParametersHaveTheirNamesInOrder) {
  ParameterStore store;
  const TransformerLayer layer(
      store.root(),
      {.width = kWidth,
       .mixer = mixer<SelfAttention>(
           {.width = kWidth, .heads = kHeads, .relative_distance = 3, .label_distance = 2}),
       .cross = CrossAttentionConfig{.width = kWidth, .heads = kHeads}});
  std::vector<std::string> names;
  for (const ParameterEntry& entry : store.entries()) {
    names.push_back(entry.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"norm1.weight",
                                             "norm1.bias",
                                             "self_attention.qkv.weight",
                                             "self_attention.qkv.bias",
                                             "self_attention.out.weight",
                                             "self_attention.out.bias",
                                             "self_attention.labels.weight",
                                             "self_attention.relative",
                                             "norm3.weight",
                                             "norm3.bias",
                                             "feed_forward.linear1.weight",
                                             "feed_forward.linear1.bias",
                                             "feed_forward.linear2.weight",
                                             "feed_forward.linear2.bias",
                                             "norm2.weight",
                                             "norm2.bias",
                                             "cross_attention.q.weight",
                                             "cross_attention.q.bias",
                                             "cross_attention.kv.weight",
                                             "cross_attention.kv.bias",
                                             "cross_attention.out.weight",
                                             "cross_attention.out.bias"}));
}

}  // namespace
}  // namespace heed::testing
