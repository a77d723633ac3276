// Blockwise decoding: what it says is what greedy decoding says, to the bit, in whatever batch, and
// in as few passes as its proposals deserve.
#include "decode/text/blockwise.h"

#include <gtest/gtest.h>

#include "decode/scripted_model.h"
#include "models/registry.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr int32_t kA = 4;
constexpr int64_t kVocabulary = 30;

// What head h proposes after what has been said.
using Proposals = std::function<int32_t(const Ids& source, const Ids& said, int64_t head)>;

// A scripted model that remembers each context under a number, which is all its hidden state.
class ScriptedBlockwise : public Seq2SeqModel, public VerifyingModel, public BlockwiseModel {
 public:
  ScriptedBlockwise(Script script, Proposals proposals, int64_t block)
      : script_(std::move(script)), proposals_(std::move(proposals)), block_(block) {}

  Tensor logits(const Batch& /*batch*/) const override { return {}; }
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t /*beam*/) const override {
    auto state = std::make_unique<State>();
    for (int64_t b = 0; b < source.dim(0); ++b) {
      const int32_t* ids = source.data<int32_t>() + b * source.dim(1);
      state->rows.push_back({Ids(ids, ids + lengths.data<int32_t>()[b]), {}});
    }
    return state;
  }
  Tensor step(const Tensor& tokens, DecodeState& state) const override {
    const std::vector<int64_t> lengths(static_cast<size_t>(tokens.size()), 1);
    return verify(tokens.reshape({tokens.size(), 1}), lengths, state).logits;
  }
  void select(DecodeState& state, std::span<const int64_t> /*sources*/,
              std::span<const int64_t> rows) const override {
    auto& all = dynamic_cast<State&>(state).rows;
    std::vector<Row> kept;
    for (const int64_t row : rows) {
      kept.push_back(all.at(static_cast<size_t>(row)));
    }
    all = kept;
  }
  Verified verify(const Tensor& tokens, std::span<const int64_t> lengths,
                  DecodeState& state) const override {
    auto& rows = dynamic_cast<State&>(state).rows;
    std::vector<float> logits;
    std::vector<float> hidden;
    for (size_t r = 0; r < rows.size(); ++r) {
      for (int64_t i = 0; i < lengths[r]; ++i) {
        rows[r].said.push_back(tokens.data<int32_t>()[static_cast<int64_t>(r) * tokens.dim(1) + i]);
        const Ids said(rows[r].said.begin() + 1, rows[r].said.end());  // without START
        for (const auto& [id, value] : dense(script_(rows[r].source, said))) {
          logits.push_back(value);
        }
        contexts_.push_back({rows[r].source, said});
        hidden.push_back(static_cast<float>(contexts_.size() - 1));
      }
    }
    const auto count = std::ssize(hidden);
    ++passes;
    return {Tensor::from(hidden, {count, 1}), Tensor::from(logits, {count, kVocabulary})};
  }
  void roll_back(DecodeState& state, std::span<const int64_t> dropped) const override {
    auto& rows = dynamic_cast<State&>(state).rows;
    for (size_t r = 0; r < rows.size(); ++r) {
      rows[r].said.resize(rows[r].said.size() - static_cast<size_t>(dropped[r]));
    }
  }
  int64_t block() const override { return block_; }
  Tensor propose(const Tensor& hidden) const override {
    std::vector<float> logits;
    for (const float number : hidden.span<float>()) {
      const Row& context = contexts_[static_cast<size_t>(number)];
      for (int64_t head = 2; head <= block_; ++head) {
        for (const auto& [id, value] :
             dense({{proposals_(context.source, context.said, head), 1.0}})) {
          logits.push_back(value);
        }
      }
    }
    proposed += hidden.dim(0);
    return Tensor::from(logits, {hidden.dim(0), block_ - 1, kVocabulary});
  }
  Tensor propose(const Tensor& /*hidden*/, int64_t /*head*/) const override { return {}; }
  int64_t target_vocabulary() const override { return kVocabulary; }

  mutable int64_t passes = 0;
  mutable int64_t proposed = 0;  // rows that heads were asked for

 private:
  struct Row {
    Ids source;
    Ids said;
  };
  struct State : DecodeState {
    std::vector<Row> rows;
  };
  static std::map<int32_t, float> dense(const Probabilities& next) {
    std::map<int32_t, float> values;
    for (int32_t id = 0; id < kVocabulary; ++id) {
      values[id] = next.contains(id) ? static_cast<float>(std::log(next.at(id))) : -100.0F;
    }
    return values;
  }

  Script script_;
  Proposals proposals_;
  int64_t block_;
  mutable std::vector<Row> contexts_;
};

// Foresees what echo() says, as far as `sight` heads go.
Proposals foresight(int64_t sight) {
  return [sight](const Ids& source, const Ids& said, int64_t head) {
    const size_t at = said.size() + static_cast<size_t>(head) - 1;
    const bool more = at < source.size() && source[at] != kEnd;
    return head > sight ? int32_t{29} : more ? source[at] : kEnd;
  };
}

Ids counted(int64_t tokens) {
  Ids source;
  for (int64_t i = 0; i < tokens; ++i) {
    source.push_back(kA + static_cast<int32_t>(i % 20));
  }
  source.push_back(kEnd);
  return source;
}

Hypothesis decode(const Seq2SeqModel& model, const DecodeRequest& request,
                  const DecodeOptions& options = {}) {
  return decode_blockwise(model, {&request, 1}, options).front().front();
}

TEST(BlockwiseDecoding, TakesAsFewPassesAsItsProposalsDeserve) {
  const Ids source = counted(12);
  const Ids expected(source.begin(), source.end() - 1);
  // START, then as many tokens in each pass as stand; 12 tokens and END.
  for (const auto& [sight, passes] : std::map<int64_t, int64_t>{{1, 13}, {2, 7}, {3, 5}, {4, 4}}) {
    const ScriptedBlockwise model(echo(), foresight(sight), 4);
    const Hypothesis found = decode(model, {source});
    EXPECT_EQ(found.ids, expected) << "sight " << sight;
    EXPECT_EQ(found.steps, passes) << "sight " << sight;
    EXPECT_EQ(model.passes, passes);
    EXPECT_LE(model.proposed, passes);  // one position of each pass at most
    EXPECT_NEAR(found.log_probability, 0.0, 1e-6);
  }
}

TEST(BlockwiseDecoding, BlocksCanBeSmallerThanTheModels) {
  const ScriptedBlockwise model(echo(), foresight(4), 4);
  EXPECT_EQ(decode(model, {counted(12)}, {.block = 2}).steps, 7);
  EXPECT_EQ(decode(model, {counted(12)}, {.block = 1}).steps, 13);
  EXPECT_EQ(error_of([&] { decode(model, {counted(12)}, {.block = 5}); }),
            "[decode] block is 5, expected at most 4: the model's");
}

// The model doubts: 29 is its second choice everywhere, and what the heads propose.
TEST(BlockwiseDecoding, AcceptsWhatIsAmongTheLikeliest) {
  const ScriptedBlockwise model(echo(0.25, 29), foresight(1), 4);
  DecodeOptions options;
  EXPECT_EQ(decode(model, {counted(6)}, options).steps, 7);
  options.acceptance = parse_acceptance("top-2");
  const Hypothesis loose = decode(model, {counted(6)}, options);
  EXPECT_EQ(loose.ids, (Ids{4, 29, 29, 29, 8, 29, 29, 29}));
  EXPECT_EQ(loose.steps, 3);
  EXPECT_NEAR(loose.log_probability, 3 * std::log(0.75) + 6 * std::log(0.25), 1e-5);
}

TEST(BlockwiseDecoding, TakesAtLeastSoManyTokens) {
  const ScriptedBlockwise model(echo(), foresight(1), 4);
  DecodeOptions options;
  options.acceptance.least = 2;
  const Hypothesis found = decode(model, {counted(6)}, options);
  EXPECT_EQ(found.ids, (Ids{4, 29, 6, 29, 8, 29}));
  EXPECT_EQ(found.steps, 4);
  options.acceptance.least = 5;
  EXPECT_EQ(error_of([&] { decode(model, {counted(6)}, options); }),
            "[decode] blocks have at least 5 tokens, expected 1 to 4");
}

TEST(BlockwiseDecoding, TellsWhatStoodThereAfterEachPass) {
  const ScriptedBlockwise model(echo(), foresight(2), 4);
  const Hypothesis found = decode(model, {counted(3)}, {.trace = true});
  EXPECT_EQ(found.trace, (std::vector<Ids>{{4}, {4, 5, 6}, {4, 5, 6}}));
  EXPECT_EQ(found.steps, 3);
}

// A server refuses such a request before it is queued.
TEST(BlockwiseDecoding, OptionsAreCheckedWithoutDecoding) {
  const ScriptedBlockwise model(echo(), foresight(2), 4);
  const DecodingKind& kind = decoding_for(model, "blockwise");
  EXPECT_NO_THROW(check_decoding(model, kind, {.block = 4}));
  EXPECT_EQ(error_of([&] { check_decoding(model, kind, {.block = 5}); }),
            "[decode] block is 5, expected at most 4: the model's");
}

TEST(BlockwiseDecoding, TokensHaveNoDistance) {
  const ScriptedBlockwise model(echo(), foresight(2), 4);
  EXPECT_EQ(error_of([&] {
              decode(model, {counted(3)}, {.acceptance = parse_acceptance("distance-2")});
            }),
            "[decode] proposals are accepted by distance-2, which is for outputs that are ordered, "
            "such as brightness: tokens of a text have no distance, expected exact or top-N");
}

// A Transformer of chance whose heads are sometimes right: the vocabulary is small.
struct TinyBlockwise {
  ParameterStore store;
  std::unique_ptr<Model> model;
  explicit TinyBlockwise(DType dtype, const Json& more = Json::object()) {
    Json fields{{"kind", "blockwise_transformer"},
                {"vocabulary", 8},
                {"width", 16},
                {"heads", 2},
                {"hidden", 24},
                {"encoder_layers", 1},
                {"decoder_layers", 2},
                {"block", 4}};
    fields.update(more);
    model = make_model(store.root(), resolve_model_config(fields, "test"));
    store.allocate(dtype, 3, ParameterStore::Use::batch_invariant);
  }
  const Seq2SeqModel& translator() const { return dynamic_cast<const Seq2SeqModel&>(*model); }
};

std::vector<DecodeRequest> requests_of(size_t count, bool prefixes) {
  std::vector<DecodeRequest> requests;
  const RandomStream random{5, 0};
  uint64_t drawn = 0;
  for (size_t i = 0; i < count; ++i) {
    DecodeRequest& request = requests.emplace_back();
    for (uint32_t left = 1 + random.bits(drawn++) % 9; left > 0; --left) {
      request.source.push_back(3 + static_cast<int32_t>(random.bits(drawn++) % 5));
    }
    for (uint32_t left = prefixes ? random.bits(drawn++) % 7 : 0; left > 0; --left) {
      request.prefix.push_back(3 + static_cast<int32_t>(random.bits(drawn++) % 5));
    }
  }
  return requests;
}

void expect_same(const Hypothesis& found, const Hypothesis& expected, const std::string& where) {
  EXPECT_EQ(found.ids, expected.ids) << where;
  EXPECT_EQ(found.log_probability, expected.log_probability) << where;
  EXPECT_EQ(found.score, expected.score) << where;
  EXPECT_LE(found.steps, expected.steps) << where;
}

TEST(BlockwiseDecoding, VerifiesOnlyProposalsThatAreSure) {
  const TinyBlockwise tiny(DType::f32);
  for (const DecodeRequest& request : requests_of(6, false)) {
    const int64_t alone = decode(tiny.translator(), request, {.block = 1}).steps;
    EXPECT_EQ(decode(tiny.translator(), request, {.sure = 1.0F}).steps, alone);
    EXPECT_EQ(decode(tiny.translator(), request, {.sure = 1e-6F}).steps,
              decode(tiny.translator(), request).steps);
  }
}

class BlockwiseEqualsGreedy : public ::testing::TestWithParam<DType> {};

TEST_P(BlockwiseEqualsGreedy, AloneAndInAnyBatch) {
  const TinyBlockwise tiny(GetParam());
  const std::vector<DecodeOptions> ways{{},
                                        {.block = 3},
                                        {.sure = 0.2F},
                                        {.max_length = 5},
                                        {.max_length = 9, .forced_length = true},
                                        {.max_length = 1},
                                        {.suppress = {{4}, {5, 6}}}};
  for (const bool prefixes : {false, true}) {
    const std::vector<DecodeRequest> requests = requests_of(24, prefixes);
    PassCount count;
    for (DecodeOptions options : ways) {
      options.decoding = "greedy";
      const auto greedy = decode_batch(tiny.translator(), requests, options);
      options.decoding = "blockwise";
      const auto together = decode_batch(tiny.translator(), requests, options);
      for (size_t i = 0; i < requests.size(); ++i) {
        expect_same(together[i].front(), greedy[i].front(), "in a batch");
        expect_same(decode(tiny.translator(), requests[i], options), greedy[i].front(), "alone");
        count.add(together[i].front());
      }
    }
    EXPECT_GT(count.mean(), 1.05);  // some proposals do stand
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, BlockwiseEqualsGreedy,
                         ::testing::Values(DType::f32, DType::bf16, DType::i8),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(BlockwiseDecoding, StopsAtTheLastPositionThatIsLearned) {
  const TinyBlockwise tiny(DType::f32, {{"positions", "learned"}, {"longest", 10}});
  const std::vector<DecodeRequest> requests = requests_of(12, true);
  const auto greedy = decode_batch(tiny.translator(), requests, {.decoding = "greedy"});
  const auto found = decode_batch(tiny.translator(), requests, {.decoding = "blockwise"});
  for (size_t i = 0; i < requests.size(); ++i) {
    expect_same(found[i].front(), greedy[i].front(), "learned");
  }
}

TEST(BlockwiseDecoding, IsWhatABlockwiseModelIsFor) {
  const TinyBlockwise tiny(DType::f32);
  EXPECT_EQ(decoding_for(tiny.translator(), "").name, "blockwise");
  const ScriptedModel plain(echo(), 7);
  EXPECT_EQ(
      error_of([&] { decoding_for(plain, "blockwise"); }),
      "[decode] this model was not trained for decoding blockwise; it can do: greedy, beam. A "
      "model for blockwise is trained with task = \"translate_blockwise\", such as "
      "recipes/translation/multi30k-blockwise.toml");
}

}  // namespace
}  // namespace heed::testing
