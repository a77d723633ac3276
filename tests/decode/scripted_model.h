// A model that says what a test tells it: probabilities of the next token by source and by what
// has been said. Its state remembers each row's source and words, and complains when select() gives
// a row to another source.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "models/model.h"

namespace heed::testing {

using Ids = std::vector<int32_t>;
using Probabilities = std::map<int32_t, double>;  // tokens that are not there are impossible
using Script = std::function<Probabilities(const Ids& source, const Ids& said)>;

inline constexpr int32_t kPad = 0;
inline constexpr int32_t kStart = 1;
inline constexpr int32_t kEnd = 2;

class ScriptedModel : public Seq2SeqModel {
 public:
  ScriptedModel(Script script, int64_t vocabulary, int32_t start = kStart)
      : script_(std::move(script)), vocabulary_(vocabulary), start_(start) {}

  Tensor logits(const Batch& /*batch*/) const override { return {}; }

  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override {
    auto state = std::make_unique<State>();
    state->beam = beam;
    for (int64_t b = 0; b < source.dim(0); ++b) {
      const int32_t* ids = source.data<int32_t>() + b * source.dim(1);
      const int32_t length = lengths.data<int32_t>()[b];
      for (int64_t i = length; i < source.dim(1); ++i) {
        EXPECT_EQ(ids[i], kPad);
      }
      sources.push_back(Ids(ids, ids + length));
      state->rows.insert(state->rows.end(), static_cast<size_t>(beam), {sources.back(), {}});
    }
    batches.push_back(source.dim(0));
    return state;
  }

  Tensor step(const Tensor& tokens, DecodeState& state) const override {
    std::vector<Row>& rows = dynamic_cast<State&>(state).rows;
    EXPECT_EQ(tokens.dim(0), static_cast<int64_t>(rows.size()));
    const bool first = !dynamic_cast<State&>(state).begun;
    dynamic_cast<State&>(state).begun = true;
    stepped.push_back(tokens.dim(0));
    std::vector<float> logits;
    for (size_t r = 0; r < rows.size(); ++r) {
      const int32_t token = tokens.data<int32_t>()[r];
      if (first) {
        EXPECT_EQ(token, start_);
      } else {
        rows[r].said.push_back(token);
      }
      const Probabilities next = script_(rows[r].source, rows[r].said);
      for (int32_t id = 0; id < vocabulary_; ++id) {
        logits.push_back(next.contains(id) ? static_cast<float>(std::log(next.at(id)))
                                           : -std::numeric_limits<float>::infinity());
      }
    }
    return Tensor::from(logits, {tokens.dim(0), vocabulary_});
  }

  void select(DecodeState& state, std::span<const int64_t> kept,
              std::span<const int64_t> rows) const override {
    auto& old = dynamic_cast<State&>(state);
    const auto beam = static_cast<size_t>(old.beam);
    ASSERT_EQ(rows.size(), kept.size() * beam);
    std::vector<Row> next;
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto row = static_cast<size_t>(rows[r]);
      ASSERT_LT(row, old.rows.size());
      EXPECT_EQ(row / beam, static_cast<size_t>(kept[r / beam])) << "a row of another source";
      next.push_back(old.rows[row]);
    }
    old.rows = std::move(next);
  }

  int64_t target_vocabulary() const override { return vocabulary_; }

  // What it was asked: every source, the sources of each batch, and the rows of each step.
  mutable std::vector<Ids> sources;
  mutable std::vector<int64_t> batches;
  mutable std::vector<int64_t> stepped;

 private:
  struct Row {
    Ids source;
    Ids said;
  };
  struct State : DecodeState {
    int64_t beam = 1;
    bool begun = false;
    std::vector<Row> rows;
  };

  Script script_;
  int64_t vocabulary_;
  int32_t start_;
};

// Says the source again, without END, and then END. `doubt` goes to the token `other`.
inline Script echo(double doubt = 0.0, int32_t other = -1) {
  return [=](const Ids& source, const Ids& said) {
    const bool more = said.size() < source.size() && source[said.size()] != kEnd;
    Probabilities next{{more ? source[said.size()] : kEnd, 1.0 - doubt}};
    if (doubt > 0) {
      next[other] += doubt;
    }
    return next;
  };
}

}  // namespace heed::testing
