#include "decode/text/blockwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "decode/acceptance.h"
#include "models/select.h"
#include "ops/shape/gather.h"
#include "ops/softmax.h"

namespace heed {
namespace {

constexpr double kNoWayOn = -std::numeric_limits<double>::infinity();

// A sentence on its way.
struct BlockwiseRow {
  size_t request = 0;
  int64_t limit = 0;         // tokens it may say
  std::vector<int32_t> ids;  // said so far
  double log_probability = 0.0;
  // What the model is shown next: START, then the prefix, then its own next token and proposals.
  std::vector<int32_t> block;
  int64_t certain = 1;  // how many of the block stand without being asked for
  int64_t steps = 0;
  std::vector<std::vector<int32_t>> trace = {};
  bool ended = false;  // by END
  bool done = false;
};

// Most tokens of a pass.
int64_t block_of(const BlockwiseModel& model, const DecodeOptions& options) {
  return options.block > 0 ? options.block : model.block();
}

// What the model thinks of the blocks of all rows, token after token.
struct Judgement {
  Tensor hidden;             // [N,C]
  Tensor log_probabilities;  // f32 [N,V]: of what follows each token
  Tensor likeliest;          // i32 [N]

  std::span<const float> scores(int64_t token) const {
    return log_probabilities.rows(token, token + 1).span<float>();
  }
  float score(int64_t token, int32_t next) const {
    return scores(token)[static_cast<size_t>(next)];
  }
};

class BlockwiseDecoding {
 public:
  BlockwiseDecoding(const Seq2SeqModel& model, std::span<const DecodeRequest> requests,
                    const DecodeOptions& options);
  std::vector<std::vector<Hypothesis>> run();

 private:
  void pass();
  Judgement judge() const;
  int64_t take_over(BlockwiseRow& row, int64_t first, const Judgement& judgement) const;
  void go_on(BlockwiseRow& row, int64_t last, const Judgement& judgement) const;
  void say(BlockwiseRow& row, int32_t token) const;
  std::span<const int32_t> rest_of_prefix(const BlockwiseRow& row) const;
  void propose(const Judgement& judgement, std::span<const int64_t> last);
  void finish(BlockwiseRow& row);
  void keep_unfinished();

  const Seq2SeqModel& model_;
  const VerifyingModel& verifying_;
  const BlockwiseModel& blockwise_;
  std::span<const DecodeRequest> requests_;
  const DecodeOptions& options_;
  int64_t block_;  // most tokens of one
  std::vector<BlockwiseRow> live_;
  std::unique_ptr<DecodeState> state_;
  std::vector<std::vector<Hypothesis>> results_;
};

BlockwiseDecoding::BlockwiseDecoding(const Seq2SeqModel& model,
                                     std::span<const DecodeRequest> requests,
                                     const DecodeOptions& options)
    : model_(model),
      verifying_(dynamic_cast<const VerifyingModel&>(model)),
      blockwise_(dynamic_cast<const BlockwiseModel&>(model)),
      requests_(requests),
      options_(options),
      block_(block_of(blockwise_, options)),
      results_(requests.size()) {
  for (size_t i = 0; i < requests.size(); ++i) {
    live_.push_back({.request = i,
                     .limit = length_limit(requests[i], options, model),
                     .ids = {},
                     .block = {options.special.start}});
  }
  const SourceBatch sources = source_batch(model, requests, options);
  state_ = model.start(sources.ids, sources.lengths, 1);
}

std::vector<std::vector<Hypothesis>> BlockwiseDecoding::run() {
  while (!live_.empty()) {
    pass();
  }
  return std::move(results_);
}

// Predict, verify and accept: one pass of the model over the blocks of all rows.
void BlockwiseDecoding::pass() {
  const Judgement judgement = judge();
  std::vector<int64_t> dropped;
  std::vector<int64_t> last;  // token of each row that the next block follows
  int64_t first = 0;
  for (BlockwiseRow& row : live_) {
    const int64_t shown = std::ssize(row.block);
    const int64_t taken = take_over(row, first, judgement);
    dropped.push_back(shown - taken);
    last.push_back(first + taken - 1);
    go_on(row, last.back(), judgement);
    ++row.steps;
    if (options_.trace) {
      row.trace.push_back(row.ids);
      if (!row.done) {  // what is certain to come
        row.trace.back().insert(row.trace.back().end(), row.block.begin(), row.block.end());
      }
    }
    first += shown;
  }
  verifying_.roll_back(*state_, dropped);
  propose(judgement, last);
  keep_unfinished();
}

Judgement BlockwiseDecoding::judge() const {
  int64_t width = 0;
  std::vector<int64_t> lengths;
  for (const BlockwiseRow& row : live_) {
    lengths.push_back(std::ssize(row.block));
    width = std::max(width, lengths.back());
  }
  std::vector<int32_t> tokens;
  for (const BlockwiseRow& row : live_) {
    tokens.insert(tokens.end(), row.block.begin(), row.block.end());
    tokens.resize(tokens.size() + static_cast<size_t>(width) - row.block.size(), row.block.back());
  }
  const Verified verified =
      verifying_.verify(Tensor::from_ints(tokens, {std::ssize(live_), width}), lengths, *state_);
  const Tensor logits = verified.logits.to(DType::f32);  // [N,V]
  forbid_tokens(options_, logits);
  int64_t token = 0;
  for (const BlockwiseRow& row : live_) {
    std::vector<int32_t> said = row.ids;
    for (const int32_t id : row.block) {
      if (row.steps > 0) {  // the first is START
        said.push_back(id);
      }
      forbid_after(options_, said, logits.rows(token, token + 1).span<float>());
      ++token;
    }
  }
  const Tensor log_probabilities = log_softmax(logits);  // [N,V]
  return {verified.hidden, log_probabilities, top_k(log_probabilities, 1).indices.reshape({token})};
}

// The tokens of the row's block that stand; how many of those shown that makes. `first` is the
// block's first among all tokens that were shown.
int64_t BlockwiseDecoding::take_over(BlockwiseRow& row, int64_t first,
                                     const Judgement& judgement) const {
  const int64_t taken =
      accepted(options_.acceptance, std::ssize(row.block), row.certain, [&](int64_t i) {
        return accepts(options_.acceptance, judgement.scores(first + i - 1),
                       judgement.likeliest.data<int32_t>()[first + i - 1],
                       row.block[static_cast<size_t>(i)]);
      });
  for (int64_t i = 0; i < taken && !row.done; ++i) {
    const int32_t token = row.block[static_cast<size_t>(i)];
    if (i > 0) {
      const float said = judgement.score(first + i - 1, token);
      row.log_probability += i >= row.certain || std::isfinite(said) ? said : 0.0F;
    }
    if (row.steps > 0) {
      say(row, token);
    }
  }
  return taken;
}

std::span<const int32_t> BlockwiseDecoding::rest_of_prefix(const BlockwiseRow& row) const {
  const std::span<const int32_t> prefix = requests_[row.request].prefix;
  return prefix.subspan(std::min(row.ids.size(), prefix.size()));
}

void BlockwiseDecoding::say(BlockwiseRow& row, int32_t token) const {
  row.ended = token == end_of(options_) && rest_of_prefix(row).empty();
  if (!row.ended) {
    row.ids.push_back(token);
  }
  row.done = row.ended || std::ssize(row.ids) >= row.limit;
}

// What comes after `last`: the rest of the prefix, if there is any, or what the model finds
// likeliest. It is the beginning of the next block, unless there is nothing to ask about it any
// more.
void BlockwiseDecoding::go_on(BlockwiseRow& row, int64_t last, const Judgement& judgement) const {
  if (row.done) {
    return;
  }
  const std::span<const int32_t> forced = rest_of_prefix(row);
  const int32_t next = forced.empty() ? judgement.likeliest.data<int32_t>()[last] : forced.front();
  const float said = judgement.score(last, next);
  if (forced.empty() && !std::isfinite(said)) {  // there is no way to go on
    row.log_probability = kNoWayOn;
    row.done = true;
    return;
  }
  row.log_probability += std::isfinite(said) ? said : 0.0F;
  const int64_t room = row.limit - std::ssize(row.ids);
  if (room == 1 || (forced.empty() && next == end_of(options_))) {
    say(row, next);
    return;
  }
  row.block = {next};
  if (!forced.empty()) {  // but for the last that there is room for, which need not be shown
    row.block.assign(forced.begin(), forced.begin() + std::min(std::ssize(forced), room - 1));
  }
  row.certain = std::ssize(row.block);
}

// The rest of each block: what the heads say from where the row stands.
void BlockwiseDecoding::propose(const Judgement& judgement, std::span<const int64_t> last) {
  std::vector<BlockwiseRow*> rows;
  std::vector<int64_t> from;
  for (size_t i = 0; i < live_.size(); ++i) {
    if (block_ > 1 && !live_[i].done && rest_of_prefix(live_[i]).empty()) {
      rows.push_back(&live_[i]);
      from.push_back(last[i]);
    }
  }
  if (rows.empty()) {
    return;
  }
  const Tensor proposals =
      blockwise_.propose(select_rows(judgement.hidden, from)).to(DType::f32);  // [R,k-1,V]
  const int64_t heads = proposals.dim(1);
  const Tensor logits = proposals.reshape({std::ssize(rows) * heads, proposals.dim(2)});
  forbid_tokens(options_, logits);
  for (int64_t i = 0; i < logits.dim(0); ++i) {
    forbid_after(options_, {}, logits.rows(i, i + 1).span<float>());
  }
  const TopK likeliest = top_k(options_.sure > 0.0F ? softmax(logits) : logits, 1);  // [R*(k-1),1]
  for (size_t i = 0; i < rows.size(); ++i) {
    BlockwiseRow& row = *rows[i];
    const int64_t most = std::min(block_, row.limit - std::ssize(row.ids) - 1);
    int64_t next = static_cast<int64_t>(i) * heads;
    while (std::ssize(row.block) < most && row.block.back() != end_of(options_) &&
           (options_.sure == 0.0F || likeliest.values.data<float>()[next] >= options_.sure)) {
      row.block.push_back(likeliest.indices.data<int32_t>()[next++]);
    }
  }
}

void BlockwiseDecoding::finish(BlockwiseRow& row) {
  const int64_t length = std::ssize(row.ids) + (row.ended ? 1 : 0);
  results_[row.request] = {
      {.ids = std::move(row.ids),
       .log_probability = row.log_probability,
       .score = row.log_probability / length_penalty(length, options_.length_penalty),
       .steps = row.steps,
       .trace = std::move(row.trace)}};
}

void BlockwiseDecoding::keep_unfinished() {
  std::vector<int64_t> kept;
  std::vector<BlockwiseRow> rows;
  for (size_t i = 0; i < live_.size(); ++i) {
    if (live_[i].done) {
      finish(live_[i]);
    } else {
      kept.push_back(static_cast<int64_t>(i));
      rows.push_back(std::move(live_[i]));
    }
  }
  if (!kept.empty() && kept.size() < live_.size()) {
    model_.select(*state_, kept, kept);
  }
  live_ = std::move(rows);
}

}  // namespace

bool can_decode_blockwise(const TranslationModel& model) {
  return dynamic_cast<const Seq2SeqModel*>(&model) != nullptr &&
         dynamic_cast<const VerifyingModel*>(&model) != nullptr &&
         dynamic_cast<const BlockwiseModel*>(&model) != nullptr;
}

void check_blockwise(const TranslationModel& model, const DecodeOptions& options) {
  const auto& blockwise = dynamic_cast<const BlockwiseModel&>(model);
  const int64_t block = block_of(blockwise, options);
  check(block <= blockwise.block(), "[decode] block is {}, expected at most {}: the model's", block,
        blockwise.block());
  check(options.acceptance.kind != Acceptance::Kind::distance,
        "[decode] proposals are accepted by {}, which is for outputs that are ordered, such as "
        "brightness: tokens of a text have no distance, expected exact or top-N",
        options.acceptance.text());
  check(1 <= options.acceptance.least && options.acceptance.least <= block,
        "[decode] blocks have at least {} tokens, expected 1 to {}", options.acceptance.least,
        block);
}

std::vector<std::vector<Hypothesis>> decode_blockwise(const Seq2SeqModel& model,
                                                      std::span<const DecodeRequest> requests,
                                                      const DecodeOptions& options) {
  check_blockwise(model, options);
  return BlockwiseDecoding(model, requests, options).run();
}

}  // namespace heed
