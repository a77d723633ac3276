#include "nn/block_attention.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {

BlockPlan::BlockPlan(int64_t block, std::vector<std::vector<int32_t>> memories)
    : block_(block), memories_(std::move(memories)) {
  check(block_ > 0 && !memories_.empty(), "[block attention] {} blocks of {}, expected some",
        memories_.size(), block_);
  for (int64_t n = 0; n < blocks(); ++n) {
    const std::vector<int32_t>& seen = memory(n);
    check(std::is_sorted(seen.begin(), seen.end()) &&
              (seen.empty() || (seen.front() >= 0 && seen.back() < n * block_)),
          "[block attention] the memory of block {} must be ascending positions below {}", n,
          n * block_);
    most_ = std::max(most_, std::ssize(seen));
    reach_ = std::max(reach_, seen.empty() ? 0 : n * block_ - seen.front());
  }
  key_positions_.reserve(static_cast<size_t>(blocks() * keys()));
  for (int64_t n = 0; n < blocks(); ++n) {
    std::vector<int32_t> positions = memory(n);
    positions.resize(positions.size() + static_cast<size_t>(block_));
    std::iota(positions.end() - block_, positions.end(), static_cast<int32_t>(n * block_));
    positions.resize(static_cast<size_t>(keys()), 0);
    key_positions_.insert(key_positions_.end(), positions.begin(), positions.end());
  }
}

// The size of each block's memory and something more, for every sequence.
Tensor BlockPlan::repeated(int64_t batch, int64_t plus) const {
  std::vector<int32_t> all;
  for (int64_t i = 0; i < batch * blocks(); ++i) {
    all.push_back(static_cast<int32_t>(std::ssize(memory(i % blocks())) + plus));
  }
  return Tensor::from_ints(all, {std::ssize(all)});
}
Tensor BlockPlan::first_queries(int64_t batch) const { return repeated(batch, 0); }
Tensor BlockPlan::lengths(int64_t batch) const { return repeated(batch, block_); }

BlockPlan plan_line(int64_t length, int64_t block, int64_t memory) {
  check(block > 0 && length % block == 0 && memory >= 0,
        "[block attention] blocks of {} with memories of {} for {} positions, expected a divisor",
        block, memory, length);
  std::vector<std::vector<int32_t>> memories;
  for (int64_t begin = 0; begin < length; begin += block) {
    std::vector<int32_t>& seen = memories.emplace_back(std::min(begin, memory));
    std::iota(seen.begin(), seen.end(), static_cast<int32_t>(begin - std::ssize(seen)));
  }
  return {block, std::move(memories)};
}

void BlockCache::select(std::span<const int64_t> kept) {
  rows = std::ssize(kept);
  if (past.defined()) {
    const std::vector<int32_t> at(kept.begin(), kept.end());
    past = index_select(past, 0, Tensor::from_ints(at, {rows}));
  }
  block.select(kept);
}

void BlockCache::join(const MixerCache& more) {
  const auto& other = cache_as<BlockCache>(more);
  if (rows == 0 || other.rows == 0) {
    *this = rows == 0 ? other : *this;
    return;
  }
  check(position == other.position,
        "[block attention] rows at position {} cannot be joined by rows at {}", position,
        other.position);
  rows += other.rows;
  past = past.defined() ? concat({past, other.past}, 0) : past;
  block.join(other.block);
}

void BlockCache::roll_back(std::span<const int64_t> dropped) {
  const int64_t count = dropped.empty() ? 0 : dropped.front();
  check(std::all_of(dropped.begin(), dropped.end(), [&](int64_t own) { return own == count; }),
        "[block attention] rows stand at the same position, expected all to lose {}", count);
  block.roll_back(dropped);
  position -= count;
}

BlockAttention::BlockAttention(const Scope& s, BlockAttentionConfig config)
    : config_(std::move(config)),
      qkv_(s / "qkv", config_.width, 3 * config_.width, true,
           Init::xavier(config_.width, config_.width)),
      out_(s / "out", config_.width, config_.width) {
  head_dim(config_.width, config_.heads);
}

std::unique_ptr<MixerCache> BlockAttention::make_cache(const CacheConfig& config) const {
  check(config.most == 0, "[block attention] the plan says what is kept, expected no limit of {}",
        config.most);
  return std::make_unique<BlockCache>(config.rows);
}

Mixed BlockAttention::operator()(const Tensor& x, const MixerContext& context) const {
  const int64_t expected = config_.plan->length();
  check(x.rank() == 3 && (x.dim(1) == expected || !context.caches.empty()),
        "[block attention] x is {}, expected [B,{},{}]", x, expected, config_.width);
  check(context.window == 0 && !context.mask.defined() && !context.lengths.defined(),
        "[block attention] the plan says what is seen, expected no window, mask or lengths");
  const AttentionOptions options{.causal = true,
                                 .dropout = config_.dropout,
                                 .weights = context.weights,
                                 .stepwise = context.stepwise};
  const Tensor qkv = qkv_(x);  // [B,T,3C]
  if (!context.caches.empty()) {
    const Mixed mixed = next_of_each(qkv, options, context.caches);
    return {out_(mixed.y), mixed.weights};  // [R,1,C]
  }
  const AttentionResult result = whole(qkv, options);
  return {out_(result.y.reshape(x.shape())),  // [B,T,C]
          result.weights.defined() ? spread(result.weights, x.dim(0)) : Tensor()};
}

// Every block of every sequence is a sequence of its own, behind its memory.
AttentionResult BlockAttention::whole(const Tensor& qkv, AttentionOptions options) const {
  const BlockPlan& plan = *config_.plan;
  const int64_t batch = qkv.dim(0);
  const int64_t heads = config_.heads;
  const int64_t dim = config_.width / heads;
  const Tensor parts = qkv.reshape({batch, 3 * plan.length(), config_.width});  // q, k, v by turns
  std::vector<int32_t> queries;
  for (int64_t t = 0; t < plan.length(); ++t) {
    queries.push_back(static_cast<int32_t>(3 * t));
  }
  std::vector<int32_t> pairs;
  for (const int32_t position : plan.key_positions()) {
    pairs.insert(pairs.end(), {3 * position + 1, 3 * position + 2});
  }
  const auto pick = [&](const std::vector<int32_t>& at) {
    return index_select(parts, 1, Tensor::from_ints(at, {std::ssize(at)}));
  };
  const int64_t sequences = batch * plan.blocks();
  const Tensor q = pick(queries).reshape({sequences, plan.block(), heads, dim});
  const Tensor kv = pick(pairs).reshape({sequences, plan.keys(), 2, heads, dim});
  options.position = plan.keys() - plan.block();
  options.positions = plan.first_queries(batch);
  options.lengths = plan.lengths(batch);
  return attention_kv(q, kv, options);  // y: [B*N,block,H,D]
}

// The rows of each cache after those of the one before.
Mixed BlockAttention::next_of_each(const Tensor& qkv, const AttentionOptions& options,
                                   const std::vector<MixerCache*>& caches) const {
  std::vector<Tensor> parts;    // [r,1,C]
  std::vector<Tensor> weights;  // [r,H,1,T]
  int64_t row = 0;
  for (MixerCache* given : caches) {
    auto& cache = cache_as<BlockCache>(*given);
    check(row + cache.rows <= qkv.dim(0), "[block attention] {} rows, the caches have more",
          qkv.dim(0));
    Mixed mixed = next(qkv.rows(row, row + cache.rows), options, cache);
    parts.push_back(std::move(mixed.y));
    weights.push_back(std::move(mixed.weights));
    row += cache.rows;
  }
  check(row == qkv.dim(0), "[block attention] {} rows, the caches have {}", qkv.dim(0), row);
  return {parts.size() == 1 ? parts[0] : concat(parts, 0),
          options.weights ? concat(weights, 0) : Tensor()};
}

// The memory of the block that begins, out of what is kept of those before.
void BlockAttention::begin_block(BlockCache& cache, int64_t rows) const {
  const BlockPlan& plan = *config_.plan;
  const int64_t ring = cache.past.dim(1);
  std::vector<int32_t> slots;
  for (const int32_t position : plan.memory(cache.position / plan.block())) {
    slots.push_back(static_cast<int32_t>(position % ring));
  }
  cache.block = {};
  if (!slots.empty()) {
    const Tensor kv = index_select(cache.past, 1, Tensor::from_ints(slots, {std::ssize(slots)}));
    const std::vector<Tensor> parts = split(kv, 2, {config_.width, config_.width});
    const Shape memory{rows, std::ssize(slots), config_.heads, config_.width / config_.heads};
    cache.block.append(parts[0].reshape(memory), parts[1].reshape(memory), Tensor());
  }
}

// At the beginning of a block its memory is looked up; then the block grows by a few positions.
Mixed BlockAttention::next(const Tensor& qkv, AttentionOptions options, BlockCache& cache) const {
  const BlockPlan& plan = *config_.plan;
  const int64_t rows = qkv.dim(0);
  const int64_t steps = qkv.dim(1);
  const Shape each{rows, steps, config_.heads, config_.width / config_.heads};
  check(cache.position < plan.length(), "[block attention] all {} positions are decoded",
        plan.length());
  check(
      cache.position % plan.block() + steps <= plan.block(),
      "[block attention] {} positions at once, expected at most the {} that are left of the block",
      steps, plan.block() - cache.position % plan.block());
  const int64_t ring = plan.reach() + plan.block();
  if (!cache.past.defined()) {
    cache.past = Tensor::zeros({rows, ring, 2 * config_.width}, qkv.dtype());
  }
  if (cache.position % plan.block() == 0) {
    begin_block(cache, rows);
  }
  const std::vector<Tensor> parts =
      split(qkv, 2, {config_.width, config_.width, config_.width});  // [R,T,C] each
  cache.block.append(parts[1].reshape(each), parts[2].reshape(each), Tensor());
  const size_t bytes = static_cast<size_t>(2 * config_.width) * size_of(qkv.dtype());
  for (int64_t i = 0; i < rows * steps; ++i) {
    const auto slot = static_cast<size_t>((cache.position + i % steps) % ring);
    const Tensor row = cache.past.rows(i / steps, i / steps + 1);
    std::memcpy(static_cast<std::byte*>(row.raw()) + slot * bytes,
                static_cast<const std::byte*>(qkv.raw()) + static_cast<size_t>(i) * bytes * 3 / 2 +
                    bytes / 2,
                bytes);
  }
  const CachedKeys keys = look_back(cache.block, steps, options);
  const AttentionResult result =
      attention(parts[0].reshape(each), keys.k, keys.v, options);  // y: [R,T,H,D]
  Mixed mixed{result.y.reshape({rows, steps, config_.width}), Tensor()};
  if (options.weights) {
    check(steps == 1, "[block attention] the weights of {} positions at once, expected 1", steps);
    mixed.weights = spread_step(result.weights, cache.position);
  }
  cache.position += steps;
  return mixed;
}

// The weights of one query, [R,H,1,keys] -> [R,H,1,T].
Tensor BlockAttention::spread_step(const Tensor& weights, int64_t position) const {
  const BlockPlan& plan = *config_.plan;
  const int64_t keys = weights.dim(3);
  const int64_t n = position / plan.block();
  Tensor all = Tensor::zeros({weights.dim(0), weights.dim(1), 1, plan.length()});
  for (int64_t i = 0; i < weights.size(); ++i) {
    const auto key = plan.key_positions()[static_cast<size_t>(n * plan.keys() + i % keys)];
    all.data<float>()[i / keys * plan.length() + key] = weights.data<float>()[i];
  }
  return all;
}

// [B*N,H,block,keys] -> [B,H,T,T], zero where nobody looked.
Tensor BlockAttention::spread(const Tensor& weights, int64_t batch) const {
  const BlockPlan& plan = *config_.plan;
  const int64_t length = plan.length();
  Tensor all = Tensor::zeros({batch, config_.heads, length, length});
  const float* from = weights.data<float>();
  for (int64_t i = 0; i < weights.size(); ++i) {
    const int64_t key = i % plan.keys();
    const int64_t query = i / plan.keys() % plan.block();
    const int64_t head = i / (plan.keys() * plan.block()) % config_.heads;
    const int64_t sequence = i / (plan.keys() * plan.block() * config_.heads);
    const int64_t n = sequence % plan.blocks();
    if (key < std::ssize(plan.memory(n)) + plan.block()) {
      const int64_t row =
          ((sequence / plan.blocks()) * config_.heads + head) * length + n * plan.block() + query;
      const auto position = plan.key_positions()[static_cast<size_t>(n * plan.keys() + key)];
      all.data<float>()[row * length + position] = from[i];
    }
  }
  return all;
}

}  // namespace heed
