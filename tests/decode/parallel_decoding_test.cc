#include "decode/text/parallel_decoding.h"

#include <gtest/gtest.h>

#include "decode/scripted_model.h"
#include "decode/scripted_parallel_model.h"
#include "models/registry.h"
#include "nn/parameters.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

using Input = ParallelModel::Input;

float as_long(const Ids& /*source*/, int64_t longer) { return longer == 0 ? 3.0F : 0.0F; }

// Position t says the source's token plus one; the last one END.
ScriptedParallelModel successor(Input input, const LengthScript& lengths = as_long) {
  return {input,
          [](const Ids& source, const Ids& shown) {
            std::vector<SaidToken> said;
            for (size_t t = 0; t < shown.size(); ++t) {
              const size_t from = std::min(t, source.size() - 1);
              const bool last = t + 1 == shown.size();
              said.push_back({last ? kEnd : source[from] + 1, 5.0F});
            }
            return said;
          },
          lengths};
}

DecodeOptions options_for(const std::string& decoding) {
  return {.decoding = decoding, .special = {.pad = kPad, .start = kStart, .end = kEnd}};
}

TEST(ParallelDecoding, CopiesAreSpreadEvenly) {
  EXPECT_EQ(spread_copies(4, 4), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(spread_copies(3, 5), (Ids{0, 0, 1, 1, 2}));
  EXPECT_EQ(spread_copies(5, 3), (Ids{1, 3, 4}));
  EXPECT_EQ(spread_copies(1, 1), (Ids{0}));
  EXPECT_EQ(spread_copies(1, 3), (Ids{0, 0, 0}));
  EXPECT_EQ(fertile_copies(std::vector<int64_t>{2, 0, 1, 0}), (Ids{0, 0, 2, 3}));
}

TEST(ParallelDecoding, SaysAllPositionsInOnePass) {
  const ScriptedParallelModel model = successor(Input::copied);
  const std::vector<DecodeRequest> requests{{{5, 6, 7, kEnd}}, {{9, kEnd}}};
  const auto found = decode_batch(model, requests, options_for("parallel"));
  EXPECT_EQ(found[0].front().ids, (Ids{6, 7, 8}));
  EXPECT_EQ(found[1].front().ids, (Ids{10}));
  EXPECT_EQ(found[0].front().steps, 1);
  EXPECT_EQ(model.passes, 1);
}

TEST(ParallelDecoding, OnePassDropsRepeatedWords) {
  const ScriptedParallelModel model = successor(Input::copied);
  const std::vector<DecodeRequest> requests{{{5, 5, 7, kEnd}}};
  EXPECT_EQ(decode_batch(model, requests, options_for("parallel"))[0].front().ids, (Ids{6, 8}));
}

TEST(ParallelDecoding, RefinementEndsWhenNothingChanges) {
  // Each pass adds one to what it is shown, up to 9.
  const ScriptedParallelModel model(
      Input::refined,
      [](const Ids& /*source*/, const Ids& shown) {
        std::vector<SaidToken> said;
        for (size_t t = 0; t + 1 < shown.size(); ++t) {
          said.push_back({shown[t] < 0 ? 5 : std::min(shown[t] + 1, 9), 5.0F});
        }
        said.push_back({kEnd, 5.0F});
        return said;
      },
      as_long);
  const std::vector<DecodeRequest> requests{{{5, 6, kEnd}}};
  DecodeOptions options = options_for("refine");
  options.trace = true;
  const Hypothesis found = decode_batch(model, requests, options)[0].front();
  EXPECT_EQ(found.ids, (Ids{9, 9}));
  EXPECT_EQ(found.steps, 6);  // 5, 6, 7, 8, 9 and 9 again
  ASSERT_EQ(found.trace.size(), 6U);
  EXPECT_EQ(found.trace[1], (Ids{6, 6, kEnd}));
  options.iterations = 3;
  EXPECT_EQ(decode_batch(model, requests, options)[0].front().ids, (Ids{7, 7}));
}

// The first position is unsure until it sees the second one.
ScriptedParallelModel unsure() {
  return {Input::masked,
          [](const Ids& /*source*/, const Ids& shown) {
            const bool helped = shown[1] == 8;
            std::vector<SaidToken> said{{helped ? 7 : 4, helped ? 5.0F : 1.0F}, {8, 4.0F}};
            said.resize(shown.size(), SaidToken{kEnd, 6.0F});
            return said;
          },
          as_long};
}

TEST(ParallelDecoding, MasksWhatItIsLeastSureOf) {
  const std::vector<DecodeRequest> requests{{{5, 6, kEnd}}};
  DecodeOptions options = options_for("refine");
  options.iterations = 3;
  options.trace = true;
  const Hypothesis found = decode_batch(unsure(), requests, options)[0].front();
  EXPECT_EQ(found.ids, (Ids{7, 8}));
  EXPECT_EQ(found.trace[0], (Ids{kStart, kStart, kEnd}));  // two of three are asked for again
  EXPECT_EQ(found.trace[1], (Ids{kStart, 8, kEnd}));
}

TEST(ParallelDecoding, CandidatesAreRankedByTheirTokensOrByAnotherModel) {
  // Two lengths are likely; the longer translation has surer tokens.
  const LengthScript two = [](const Ids& /*source*/, int64_t longer) {
    return longer == 0 ? 3.0F : longer == 1 ? 2.0F : -9.0F;
  };
  const ScriptedParallelModel model(
      Input::copied,
      [](const Ids& /*source*/, const Ids& shown) {
        std::vector<SaidToken> said(shown.size(), SaidToken{7, shown.size() > 3 ? 6.0F : 3.0F});
        said[0].id = 6;
        said.back().id = kEnd;
        return said;
      },
      two);
  const std::vector<DecodeRequest> requests{{{5, 6, kEnd}}};
  DecodeOptions options = options_for("parallel");
  EXPECT_EQ(decode_batch(model, requests, options)[0].front().ids, (Ids{6, 7}));
  options.candidates = 2;
  options.n_best = 2;
  const auto ranked = decode_batch(model, requests, options)[0];
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_GT(ranked[0].score, ranked[1].score);
  options.n_best = 3;
  EXPECT_EQ(error_of([&] { decode_batch(model, requests, options); }),
            "[decode] n_best is 3, expected 1 to 2, the candidates");
}

TEST(ParallelDecoding, LengthsKeepToTheLimits) {
  const LengthScript longest = [](const Ids& /*source*/, int64_t longer) {
    return static_cast<float>(longer);
  };
  const ScriptedParallelModel model = successor(Input::copied, longest);
  const std::vector<DecodeRequest> requests{{{5, 6, 7, kEnd}}};
  DecodeOptions options = options_for("parallel");
  options.max_length = 2;
  EXPECT_EQ(decode_batch(model, requests, options)[0].front().ids, (Ids{6, 7}));
}

TEST(Decoding, SaysWhatAModelCanDo) {
  const ScriptedParallelModel copied = successor(Input::copied);
  EXPECT_EQ(decoding_for(copied, "").name, "parallel");
  EXPECT_EQ(decoding_for(successor(Input::masked), "").name, "refine");
  const std::string text = error_of([&] { decoding_for(copied, "beam"); });
  EXPECT_NE(text.find("it can do: parallel."), std::string::npos) << text;
  EXPECT_NE(text.find("task = \"translate\""), std::string::npos) << text;
  EXPECT_NE(error_of([&] { decoding_for(copied, "refine"); }).find("model.input"),
            std::string::npos);
  EXPECT_NE(error_of([&] { decoding_for(copied, "quick"); }).find("expected one of greedy, beam"),
            std::string::npos);
}

TEST(Decoding, RefusesWhatMakesNoSense) {
  const ScriptedParallelModel model = successor(Input::copied);
  const std::vector<DecodeRequest> forced{{{5, kEnd}, {6}}};
  EXPECT_NE(error_of([&] { decode_batch(model, forced, options_for("")); }).find("prefix"),
            std::string::npos);
  DecodeOptions options = options_for("parallel");
  options.suppress = {{7}};
  EXPECT_NE(error_of([&] {
              check_decoding(model, decoding_for(model, "parallel"), options);
            }).find("cannot suppress"),
            std::string::npos);
}

// Random weights: what one source becomes does not depend on the batch.
TEST(ParallelDecoding, DoNotDependOnTheBatch) {
  for (const char* input : {"copied", "refined", "masked"}) {
    SCOPED_TRACE(input);
    const Json config = resolve_model_config({{"kind", "parallel_transformer"},
                                              {"input", input},
                                              {"vocabulary", 20},
                                              {"width", 32},
                                              {"heads", 2},
                                              {"hidden", 48},
                                              {"encoder_layers", 2},
                                              {"decoder_layers", 2},
                                              {"length_range", 6}},
                                             "test");
    ParameterStore store;
    const auto any = make_model(store.root(), config);
    store.allocate(DType::f32, 11, ParameterStore::Use::batch_invariant);
    const auto& model = dynamic_cast<const TranslationModel&>(*any);
    const RandomStream random{3, 0};
    std::vector<DecodeRequest> requests;
    for (uint64_t i = 0; i < 12; ++i) {
      DecodeRequest request;
      for (uint64_t t = 0; t < 1 + random.bits(i) % 17; ++t) {
        request.source.push_back(static_cast<int32_t>(3 + random.bits(100 * i + t) % 16));
      }
      requests.push_back(request);
    }
    DecodeOptions options = options_for("");
    options.candidates = 3;
    options.iterations = 4;
    const auto together = decode_all(model, requests, options, 200);
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto alone = decode_batch(model, std::span(&requests[i], 1), options);
      EXPECT_EQ(alone[0].front().ids, together[i].front().ids);
      EXPECT_EQ(alone[0].front().score, together[i].front().score);
      EXPECT_EQ(alone[0].front().steps, together[i].front().steps);
    }
  }
}

}  // namespace
}  // namespace heed::testing
