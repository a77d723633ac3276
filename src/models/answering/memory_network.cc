#include "models/answering/memory_network.h"

#include <algorithm>

#include "base/error.h"
#include "nn/scopes/attention_scope.h"
#include "ops/attention/attention.h"
#include "ops/linear.h"
#include "ops/pointwise.h"
#include "ops/shape/embedding.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// 1 for facts and 0 for padding, f32 [B,N,1].
Tensor is_fact(const Tensor& counts, int64_t facts) {
  const int64_t rows = counts.size();
  Tensor mask = Tensor::zeros({rows, facts, 1});
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(mask.data<float>() + row * facts, counts.data<int32_t>()[row], 1.0F);
  }
  return mask;
}

// How many facts there are without the question: i32 [B].
Tensor fact_counts(const Tensor& lengths) {
  Tensor counts = lengths.clone();
  for (int32_t& count : counts.span<int32_t>()) {
    --count;
  }
  return counts;
}

}  // namespace

MemoryNetwork::MemoryNetwork(const Scope& s, const MemoryNetworkConfig& config)
    : config_(config),
      sentences_(s, {.order = config.order, .longest = config.sentence, .width = config.width}) {
  check(config.vocabulary >= kFirstAnswer + config.answers,
        "[memory network] a vocabulary of {} words has no room for {} answers behind the special "
        "tokens",
        config.vocabulary, config.answers);
  const Init init = Init::normal(config.standard_deviation);
  const bool adjacent = config.tying == "adjacent";
  const int64_t sets = adjacent ? config.hops + 1 : 2;
  for (int64_t i = 0; i < sets; ++i) {
    const Scope scope = s / "vectors" / i;
    vectors_.push_back({scope.param("words", {config.vocabulary, config.width}, init),
                        scope.param("ages", {config.memory, config.width}, init)});
  }
  if (!adjacent) {
    question_ = s.param("question", {config.vocabulary, config.width}, init);
    between_.emplace(s / "between", config.width, config.width, false, init);
    output_.emplace(s / "output", config.width, config.answers, false, init);
  }
}

const MemoryNetwork::Vectors& MemoryNetwork::compared(int64_t hop) const {
  return vectors_[static_cast<size_t>(between_ ? 0 : hop)];
}

const MemoryNetwork::Vectors& MemoryNetwork::read(int64_t hop) const {
  return vectors_[static_cast<size_t>(between_ ? 1 : hop + 1)];
}

Tensor MemoryNetwork::memories(const Facts& facts, const Vectors& vectors) const {
  const Tensor words = embedding(facts.words, vectors.words);           // [S,W,C]
  const Tensor sentences = encode_sentences(words, facts.weights);      // [S,C]
  const Tensor memories = index_select(sentences, 0, facts.facts);      // [B,N,C]
  return add(memories, slice(vectors.ages, 0, 0, facts.facts.dim(1)));  // [B,N,C]
}

Tensor MemoryNetwork::hop(const Tensor& u, const Facts& facts, int64_t hop) const {
  const int64_t B = facts.facts.dim(0);
  const int64_t N = facts.facts.dim(1);
  const int64_t C = config_.width;
  const Tensor m = memories(facts, compared(hop));  // [B,N,C]
  const Tensor c = memories(facts, read(hop));      // [B,N,C]
  if (facts.linear) {
    const Tensor p = mul(matmul(m, u.reshape({B, C, 1})), is_fact(facts.lengths, N));  // [B,N,1]
    return matmul(p, c, {.transpose_a = true}).reshape({B, C});                        // [B,C]
  }
  const AttentionResult looked =
      attention(u.reshape({B, 1, 1, C}), m.reshape({B, N, 1, C}), c.reshape({B, N, 1, C}),
                {.lengths = facts.lengths, .scale = 1.0F, .weights = AttentionScope::open()});
  AttentionScope::report({"memory", hop}, looked.weights);  // [B,1,1,N]
  return looked.y.reshape({B, C});                          // [B,C]
}

Tensor MemoryNetwork::said(const Tensor& u) const {
  if (output_) {
    return (*output_)(u);  // [B,A]
  }
  const Tensor& words = vectors_.back().words;
  return linear(u, slice(words, 0, kFirstAnswer, kFirstAnswer + config_.answers), {});  // [B,A]
}

Tensor MemoryNetwork::answers(const StoryBatch& batch) const {
  const int64_t B = batch.stories.dim(0);
  const int64_t T = batch.stories.dim(1);
  check(T - 1 <= config_.memory, "[memory network] a story has {} facts, the memory holds {}",
        T - 1, config_.memory);
  const Tensor weights = sentences_.weights(batch.words);           // [S,W,C]
  const Tensor asked = slice(batch.stories, 1, 0, 1).reshape({B});  // [B]
  const Tensor& table = between_ ? question_.tensor() : compared(0).words.tensor();
  const Tensor words = embedding(batch.words, table);         // [S,W,C]
  const Tensor questions = encode_sentences(words, weights);  // [S,C]
  Tensor u = index_select(questions, 0, asked);               // [B,C]
  const Facts facts{.words = batch.words,
                    .weights = weights,
                    .facts = T > 1 ? slice(batch.stories, 1, 1, T) : Tensor(),
                    .lengths = fact_counts(batch.lengths),
                    .linear = batch.linear};
  for (int64_t k = 0; k < config_.hops; ++k) {
    const Tensor input = u;             // [B,C]
    u = between_ ? (*between_)(u) : u;  // [B,C]
    if (T > 1) {
      u = add(u, dropout(hop(input, facts, k), config_.dropout));  // [B,C]
    }
  }
  return said(u);  // [B,A]
}

ModelSpec spec_of(const MemoryNetworkConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.memory,
          .classes = config.answers,
          .attention = true};
}

void adapt(MemoryNetworkConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

void adapt(MemoryNetworkConfig& config, const AnswerSizes& sizes) {
  config.answers = sizes.answers;
}

}  // namespace heed
