// The end-to-end memory network (Sukhbaatar, Szlam, Weston and Fergus 2015): a question looks at
// the facts of a story a few times (hops), each time with what the hops before have found.
//
// Facts have two vectors in each hop, one that is compared with the question (A) and one that is
// read (C). With adjacent tying the vectors that a hop reads are those that the next one compares,
// those of the question are those of the first hop, and answers are said with those of the last.
// With layer-wise tying all hops have the same, like a recurrent network, and a matrix (H) between
// them. A fact's age is part of its vectors (temporal encoding).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "models/answering/answering_model.h"
#include "models/answering/sentence_encoder.h"
#include "nn/layers.h"

namespace heed {

struct MemoryNetworkConfig {
  int64_t vocabulary = 1000;
  int64_t answers = 2;
  int64_t width = 50;
  int64_t hops = 3;
  std::string tying = "adjacent";
  std::string order = "positions";
  int64_t memory = 50;
  int64_t sentence = 16;
  float dropout = 0.0F;
  float standard_deviation = 0.1F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "words, special tokens and answers included; as in the data",
      {.least = 1, .most = 1 << 24});
    v("answers", answers, "answers to choose from; as in the data", {.least = 1, .most = 1 << 20});
    v("width", width, "size of a sentence's vector", {.least = 1, .most = 65536});
    v("hops", hops, "how often the memory is looked at", {.least = 1, .most = 100});
    v("tying", tying,
      "which hops share vectors: what one reads the next compares, or all have the same",
      {.choices = {"adjacent", "layerwise"}});
    v("order", order,
      "how words make a sentence: a bag, fixed weights by their places, or learned ones",
      {.choices = {"bag", "positions", "learned"}});
    v("memory", memory, "facts of a story that are read, the newest ones",
      {.least = 1, .most = 65536});
    v("sentence", sentence, "most words of a sentence", {.least = 1, .most = 1024});
    v("dropout", dropout, "dropout of what each hop reads", {.least = 0, .most = 0.99});
    v("standard_deviation", standard_deviation, "standard deviation of the initial values",
      {.least = 0, .most = 100});
  }
};

class MemoryNetwork : public AnsweringModel {
 public:
  MemoryNetwork(const Scope& s, const MemoryNetworkConfig& config);

  Tensor answers(const StoryBatch& batch) const override;
  int64_t memory() const override { return config_.memory; }
  int64_t longest() const override { return config_.sentence; }

 private:
  // One set of vectors: of words, and of ages.
  struct Vectors {
    Parameter words;  // [V,C]
    Parameter ages;   // [memory, C]
  };
  struct Facts {
    Tensor words;    // i32 [S,W]
    Tensor weights;  // [S,W,C]
    Tensor facts;    // i32 [B,N]
    Tensor lengths;  // i32 [B]
    bool linear = false;
  };

  const Vectors& compared(int64_t hop) const;                          // A
  const Vectors& read(int64_t hop) const;                              // C
  Tensor memories(const Facts& facts, const Vectors& vectors) const;   // [B,N,C]
  Tensor hop(const Tensor& u, const Facts& facts, int64_t hop) const;  // [B,C] -> [B,C]
  Tensor said(const Tensor& u) const;                                  // [B,C] -> [B,A]

  MemoryNetworkConfig config_;
  SentenceEncoder sentences_;
  std::vector<Vectors> vectors_;   // adjacent: of hops + 1; layerwise: A and C
  Parameter question_;             // layerwise: B, [V,C]
  std::optional<Linear> between_;  // layerwise: H
  std::optional<Linear> output_;   // layerwise: W
};

// For the registry: models/spec.h.
ModelSpec spec_of(const MemoryNetworkConfig& config);
void adapt(MemoryNetworkConfig& config, const VocabularySizes& sizes);
void adapt(MemoryNetworkConfig& config, const AnswerSizes& sizes);

}  // namespace heed
