// Rows of text that a language model goes on with, token by token. Rows come at any time, each with
// options of its own, and leave when they end or are taken out.
//
// Rows are independent: what a prompt is followed by depends on it, its options and its sample
// number alone, whatever else comes and goes meanwhile. Belongs to one thread; the model and the
// tokenizer must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decode/sampling.h"
#include "decode/speculation/proposer.h"
#include "decode/text/text_stream.h"
#include "models/model.h"
#include "text/tokenizer.h"

namespace heed {

struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t max_tokens = 256;
  uint64_t seed = 1;
  std::vector<std::string> stop = {};
  bool ignore_end = false;              // END does not end it
  std::vector<int32_t> forbidden = {};  // tokens that are never drawn
};

// Tokens that are never drawn become impossible.
void forbid(std::span<const int32_t> tokens, std::span<float> logits);

enum class GenerateEnd { length, end_token, stop_text, enough };

struct TokenLogProbability {
  int32_t id = 0;
  float log_probability = 0.0F;
};

// The log-probabilities are the model's own, before temperature, penalties and limits.
struct DrawnToken {
  int32_t id = 0;
  float log_probability = 0.0F;                     // 0 unless asked for
  std::vector<TokenLogProbability> likeliest = {};  // as many as asked for, likeliest first
};

// How likely the model takes each token of a text to be after those before it, and the `likeliest`
// there: from the second on. An Error for ids that do not exist or are more than the context.
std::vector<DrawnToken> log_probabilities_of_text(const LanguageModel& model,
                                                  const Tokenizer& tokenizer,
                                                  const std::vector<int32_t>& ids,
                                                  int64_t likeliest);

struct TextRequest {
  std::vector<int32_t> prompt;
  GenerateOptions options = {};
  uint64_t sample = 0;  // requests with other numbers draw other random numbers
  // Log-probabilities are wanted: of each token drawn, and of so many likeliest ones.
  std::optional<int64_t> log_probabilities = {};
  // Called with every token. False: that is enough, and the token the last one.
  std::function<bool(int32_t)> more = {};
};

// What a step did to a row.
struct TextAdvance {
  uint64_t row = 0;
  std::string text = {};                 // that became certain
  std::optional<DrawnToken> token = {};  // none: END was drawn, or nothing was left to draw
  std::optional<GenerateEnd> end = {};   // the row has left
  std::exception_ptr error = {};         // why the row has left, if it could not go on
  int64_t forgotten = 0;  // tokens at the beginning that the model cannot look at any more
  int64_t passes = 0;     // of the model over the row, when it has left
};

// What rows are shown before their first token is drawn.
struct PrefillOptions {
  // A longer prompt is shown in pieces, others in batches. Part of what a row's bits depend on.
  int64_t piece = 256;
  // With padding, about so many in each step: others wait no longer than for these. 0: all.
  int64_t tokens = 0;
};

class TextRows {
 public:
  // With proposals rows go on by several tokens in a step: greedy rows say what they say without,
  // and others are distributed in the same way.
  TextRows(const LanguageModel& model, const Tokenizer& tokenizer,
           const PrefillOptions& prefill = {}, const SpeculationOptions& speculation = {});

  // The new row's number. A request that no model could answer is an Error.
  uint64_t add(TextRequest request);
  void remove(uint64_t row);
  size_t size() const { return rows_.size() + waiting_.size(); }

  // Goes on with every row, by one token unless there are proposals; rows that are still to be
  // shown their prompt may have to wait. Tells of every token, and of every row that left.
  std::vector<TextAdvance> step();

 private:
  struct Row {
    uint64_t number = 0;
    TextRequest request;
    std::vector<int32_t> ids;  // prompt and what follows
    int64_t shown = 0;         // first of ids that is in the model's state
    TextStream stream;
    int64_t passes = 0;
  };
  // A row that is not in the state yet.
  struct Waiting {
    Row row;
    std::unique_ptr<DecodeState> state = {};    // with its first pieces
    std::unique_ptr<DecodeState> drafted = {};  // the proposer's
    int64_t done = 0;                           // tokens in it
  };
  // Rows that are shown something together, padded to `width` tokens.
  struct Group {
    std::vector<Waiting> rows = {};
    int64_t width = 0;
    std::unique_ptr<DecodeState> state = {};  // of these rows
    std::unique_ptr<DecodeState> drafted = {};
    Tensor next = {};  // logits of what follows, f32 [R,V]
  };
  // What the model says of rows, in their order.
  struct Judged {
    // Of one row: tokens that were proposed, and the logits in front of each and behind the last.
    struct One {
      std::vector<Proposal> proposed = {};
      std::vector<float*> logits = {};
    };
    std::vector<Tensor> parts = {};  // f32 [N,V]
    std::vector<One> rows = {};
    Tensor hidden = {};  // [N,C], if tokens were proposed

    // Logits [N,V] of more rows, of which each has as many as it has proposals and one more.
    void add(const Tensor& logits, std::vector<std::vector<Proposal>> proposed);
  };

  // What is said next in a row: proposals that stand, then a token of the model's own.
  struct Drawn {
    std::vector<DrawnToken> tokens = {};
    std::exception_ptr error = {};
  };

  // What a step has come to.
  struct Turn {
    std::vector<TextAdvance> told = {};
    std::vector<Drawn> drawn = {};  // for the first of the rows in the state
    Judged judged = {};             // the others, which came in this step
  };

  int64_t said(const Row& row) const {
    return std::ssize(row.ids) - std::ssize(row.request.prompt);
  }
  bool full(const Row& row) const;
  void take_out(std::vector<size_t> which);
  void set_aside_full();
  void go_on(Turn& turn);
  std::vector<std::vector<Proposal>> proposals() const;
  Judged judge() const;
  void take_back(const Judged& judged, const std::vector<Drawn>& drawn) const;
  void prefill(Turn& turn);
  Group next_group(int64_t room);
  bool show(Group& group);
  void join(Group& group, Turn& turn);
  void fail_all(Turn& turn);
  void forget_all();
  std::vector<DrawnToken> choose(const Row& row, const Judged::One& judged) const;
  std::vector<Drawn> draw_tokens(size_t first, const Judged& judged) const;
  void say(Turn& turn);
  TextAdvance accept(Row& row, DrawnToken token) const;
  static TextAdvance finish(Row& row, GenerateEnd end, TextAdvance told);

  const LanguageModel& model_;
  const Tokenizer& tokenizer_;
  PrefillOptions prefill_;
  uint64_t next_number_ = 0;
  std::vector<Row> rows_;        // those in the state, in its order
  std::deque<Waiting> waiting_;  // first come, first served
  std::unique_ptr<DecodeState> state_;
  std::unique_ptr<Proposer> proposer_;  // null: there are no proposals
};

}  // namespace heed
