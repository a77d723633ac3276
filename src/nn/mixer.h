// How positions exchange information: the part of a layer that looks beyond a single position.
//
// Plain attention is one way (nn/attention.h), attention to a compressed memory
// (nn/compressed_attention.h) and attention over blocks (nn/block_attention.h) are others. Another
// way, such as a convolution, a recurrence or the edges of a graph, is a class of its own in files
// of its own, with its own options and, if it decodes step by step, its own cache. A layer gets it
// as a factory, `mixer<SelfAttention>({.width = 512, .heads = 8})`, and knows nothing else about
// it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "nn/parameters.h"
#include "nn/scopes/attention_scope.h"
#include "tensor/tensor.h"

namespace heed {

// What a mixer keeps of the positions decoded so far. Rows are independent of each other.
class MixerCache {
 public:
  virtual ~MixerCache() = default;

  // Row r becomes what rows[r] was; there may be fewer rows than before, or more.
  virtual void select(std::span<const int64_t> rows) = 0;
  // The rows of another cache of the same mixer come behind these.
  virtual void join(const MixerCache& more) = 0;
  // Takes back the last dropped[r] positions of row r, which came with the last step, as if they
  // had never come: tokens that were shown on trial. Nothing is copied.
  virtual void roll_back(std::span<const int64_t> dropped) = 0;
  // Memory that its rows take.
  virtual size_t bytes() const = 0;

 protected:
  MixerCache() = default;
  MixerCache(const MixerCache&) = default;
  MixerCache& operator=(const MixerCache&) = default;
};

// A cache as the type that a mixer makes; another mixer's cache is an Error.
template <typename Cache>
Cache& cache_as(MixerCache& cache) {
  auto* own = dynamic_cast<Cache*>(&cache);
  check(own != nullptr, "[mixer] the cache is another mixer's");
  return *own;
}
template <typename Cache>
const Cache& cache_as(const MixerCache& cache) {
  const auto* own = dynamic_cast<const Cache*>(&cache);
  check(own != nullptr, "[mixer] the cache is another mixer's");
  return *own;
}

struct CacheConfig {
  int64_t rows = 0;  // that it begins with; a cache that only others join has none
  // Rows may forget all but their last so many positions, because nobody looks further back; 0:
  // they keep all.
  int64_t most = 0;
};

// What a mixer knows of its positions besides their vectors. What it cannot heed is an Error.
struct MixerContext {
  bool causal = false;  // a position sees itself and those before it
  int64_t window = 0;   // a position sees so many to its left, itself included; 0: all
  Tensor lengths = {};  // i32 [B]: positions past a row's length are padding; with a cache, of
                        // those that come
  Tensor mask = {};    // i8, non-zero where a position may see another: [T,T], [B,T,T] or [B,H,T,T]
  Tensor labels = {};  // i32 [B,T]: what positions are, such as pitches
  // What x continues, for decoding; the rows of each lie one after the other.
  std::vector<MixerCache*> caches = {};
  // x are steps of decoding, shown together: each position has the bits that it has as a step of
  // its own.
  bool stepwise = false;
  bool weights = false;  // also return the attention weights, if there are any
};

struct Mixed {
  Tensor y;        // [B,T,C]
  Tensor weights;  // f32 [B,H,T,keys], if asked for; without gradient
};

class Mixer {
 public:
  virtual ~Mixer() = default;

  // x [B,T,C] -> y [B,T,C]
  virtual Mixed operator()(const Tensor& x, const MixerContext& context) const = 0;
  // For decoding step by step.
  virtual std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const = 0;

  // The mixed positions alone. The weights go to the AttentionScope, if there is one.
  Tensor mix(const Tensor& x, const MixerContext& context, const AttentionLabel& label) const {
    if (!AttentionScope::open()) {
      return (*this)(x, context).y;  // [B,T,C]
    }
    MixerContext looking = context;
    looking.weights = true;
    const Mixed mixed = (*this)(x, looking);
    AttentionScope::report(label, mixed.weights);
    return mixed.y;  // [B,T,C]
  }

 protected:
  Mixer() = default;
  Mixer(const Mixer&) = default;
  Mixer& operator=(const Mixer&) = default;
};

using MixerFactory = std::function<std::unique_ptr<Mixer>(const Scope&)>;

template <typename Kind>
MixerFactory mixer(typename Kind::Config config) {
  return [config = std::move(config)](const Scope& s) -> std::unique_ptr<Mixer> {
    return std::make_unique<Kind>(s, config);
  };
}

}  // namespace heed
