// A parallel model that says what a test tells it: the likeliest token of each position and how
// sure it is of it, by source and by what it is shown. Lengths are as likely as the script says.
#pragma once

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "models/model.h"

namespace heed::testing {

struct SaidToken {
  int32_t id = 0;
  float logit = 5.0F;  // of the id; all others have 0
};

// What is shown: tokens, or -1 - s for a copy of the source's token s.
using ParallelScript = std::function<std::vector<SaidToken>(const std::vector<int32_t>& source,
                                                            const std::vector<int32_t>& shown)>;
// How likely a length is that differs so much from the source's.
using LengthScript = std::function<float(const std::vector<int32_t>& source, int64_t longer)>;

class ScriptedParallelModel : public ParallelModel {
 public:
  ScriptedParallelModel(Input input, ParallelScript script, LengthScript lengths)
      : input_(input), script_(std::move(script)), lengths_(std::move(lengths)) {}

  Input input() const override { return input_; }
  int64_t target_vocabulary() const override { return kVocabulary; }
  int64_t length_range() const override { return kRange; }
  Tensor fertility_logits(const DecodeState& /*state*/) const override { return {}; }
  int64_t fertilities() const override { return 0; }

  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths) const override {
    auto state = std::make_unique<State>();
    for (int64_t row = 0; row < source.dim(0); ++row) {
      const int32_t* ids = source.data<int32_t>() + row * source.dim(1);
      state->sources.emplace_back(ids, ids + lengths.data<int32_t>()[row]);
    }
    return state;
  }

  Tensor length_logits(const DecodeState& base) const override {
    const auto& sources = static_cast<const State&>(base).sources;
    std::vector<float> logits;
    for (const std::vector<int32_t>& source : sources) {
      for (int64_t longer = -kRange; longer <= kRange; ++longer) {
        logits.push_back(lengths_(source, longer));
      }
    }
    return Tensor::from(logits, {std::ssize(sources), 2 * kRange + 1});
  }

  Tensor pass(const Pass& shown, const DecodeState& base) const override {
    const auto& sources = static_cast<const State&>(base).sources;
    const bool copies = shown.copied.defined();
    const Tensor& ids = copies ? shown.copied : shown.tokens;
    const int64_t width = ids.dim(1);
    const int64_t each = ids.dim(0) / std::ssize(sources);
    std::vector<float> logits(static_cast<size_t>(ids.size() * kVocabulary), 0.0F);
    for (int64_t row = 0; row < ids.dim(0); ++row) {
      std::vector<int32_t> seen;
      for (int64_t t = 0; t < shown.lengths.data<int32_t>()[row]; ++t) {
        const int32_t id = ids.data<int32_t>()[row * width + t];
        seen.push_back(copies ? -1 - id : id);
      }
      const auto said = script_(sources[static_cast<size_t>(row / each)], seen);
      for (size_t t = 0; t < said.size(); ++t) {
        const int64_t at = (row * width + static_cast<int64_t>(t)) * kVocabulary + said[t].id;
        logits[static_cast<size_t>(at)] = said[t].logit;
      }
    }
    ++passes;
    return Tensor::from(logits, {ids.dim(0), width, kVocabulary});
  }

  mutable int passes = 0;

 private:
  static constexpr int64_t kVocabulary = 20;
  static constexpr int64_t kRange = 4;
  struct State : DecodeState {
    std::vector<std::vector<int32_t>> sources;
  };

  Input input_;
  ParallelScript script_;
  LengthScript lengths_;
};

}  // namespace heed::testing
