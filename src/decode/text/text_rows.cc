#include "decode/text/text_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "decode/speculation/draft.h"
#include "decode/speculation/proposing_heads.h"
#include "decode/speculation/speculative_sampling.h"
#include "models/select.h"

namespace heed {
namespace {

void check_ids(const std::vector<int32_t>& ids, const char* what, int32_t size) {
  for (const int32_t id : ids) {
    check(id >= 0 && id < size, "[generate] token {} is {}, expected 0 to {}", id, what, size - 1);
  }
}

// log(sum of exp).
double log_total(std::span<const float> logits) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double total = 0.0;
  for (const float logit : logits) {
    total += std::exp(logit - top);
  }
  return top + std::log(total);
}

std::vector<TokenLogProbability> likeliest_of(std::span<const float> logits, double total,
                                              int64_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min(count, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    const float first = logits[static_cast<size_t>(a)];
    const float second = logits[static_cast<size_t>(b)];
    return first != second ? first > second : a < b;
  });
  std::vector<TokenLogProbability> log_probabilities;
  for (auto id = ids.begin(); id != end; ++id) {
    log_probabilities.push_back(
        {*id, static_cast<float>(logits[static_cast<size_t>(*id)] - total)});
  }
  return log_probabilities;
}

}  // namespace

std::vector<DrawnToken> log_probabilities_of_text(const LanguageModel& model,
                                                  const Tokenizer& tokenizer,
                                                  const std::vector<int32_t>& ids,
                                                  int64_t likeliest) {
  check_ids(ids, "in the text", tokenizer.size());
  check(model.context() == 0 || std::ssize(ids) <= model.context(),
        "[generate] a text has {} tokens, expected at most {}", ids.size(), model.context());
  std::vector<DrawnToken> tokens;
  if (ids.size() < 2) {
    return tokens;
  }
  tokens.resize(ids.size() - 1);
  const Tensor logits =
      model.logits(Tensor::from_ints(std::span(ids).first(tokens.size()), {1, std::ssize(tokens)}))
          .to(DType::f32);  // [1,T,V]
  const auto known = static_cast<size_t>(tokenizer.size());
  parallel_tasks(std::ssize(tokens), [&](int64_t t) {
    const std::span<const float> row(logits.data<float>() + t * logits.dim(2), known);
    const double total = log_total(row);
    const int32_t id = ids[static_cast<size_t>(t + 1)];
    tokens[static_cast<size_t>(t)] = {id, static_cast<float>(row[static_cast<size_t>(id)] - total),
                                      likeliest_of(row, total, likeliest)};
  });
  return tokens;
}

void forbid(std::span<const int32_t> tokens, std::span<float> logits) {
  for (const int32_t id : tokens) {
    logits[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
  }
}

void TextRows::Judged::add(const Tensor& logits, std::vector<std::vector<Proposal>> proposed) {
  parts.push_back(logits.to(DType::f32));
  float* next = parts.back().data<float>();
  for (std::vector<Proposal>& own : proposed) {
    One& row = rows.emplace_back(One{std::move(own), {}});
    for (size_t i = 0; i <= row.proposed.size(); ++i, next += logits.dim(1)) {
      row.logits.push_back(next);
    }
  }
}

TextRows::TextRows(const LanguageModel& model, const Tokenizer& tokenizer,
                   const PrefillOptions& prefill, const SpeculationOptions& speculation)
    : model_(model), tokenizer_(tokenizer), prefill_(prefill) {
  check(prefill.piece > 0, "[generate] prompts in pieces of {} tokens, expected 1 or more",
        prefill.piece);
  if (speculation.draft != nullptr) {
    proposer_ = make_draft(speculation, model, tokenizer);
  } else if (speculation.heads) {
    proposer_ = make_proposing_heads(model, tokenizer);
  }
}

uint64_t TextRows::add(TextRequest request) {
  check_sampling(request.options.sampling);
  check_ids(request.options.forbidden, "forbidden", tokenizer_.size());
  check(!request.prompt.empty(), "[generate] the prompt has no tokens, expected some");
  check_ids(request.prompt, "in the prompt", tokenizer_.size());
  TextStream stream(tokenizer_, request.options.stop);
  stream.begin(request.prompt);
  std::vector<int32_t> ids = request.prompt;
  Row row{next_number_++, std::move(request), std::move(ids), 0, std::move(stream)};
  row.shown = full(row) ? std::ssize(row.ids) - model_.context() : 0;
  waiting_.push_back({std::move(row)});
  return waiting_.back().row.number;
}

void TextRows::remove(uint64_t number) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.row.number == number; });
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].number == number) {
      take_out({r});
      return;
    }
  }
}

bool TextRows::full(const Row& row) const {
  return model_.context() > 0 && std::ssize(row.ids) - row.shown > model_.context();
}

// Rows from the end fill the gaps, which is the cheapest for the model's state. `which` is sorted.
void TextRows::take_out(std::vector<size_t> which) {
  if (which.empty()) {
    return;
  }
  std::vector<int64_t> kept(rows_.size());
  std::iota(kept.begin(), kept.end(), 0);
  for (auto gone = which.rbegin(); gone != which.rend(); ++gone) {
    kept[*gone] = kept.back();
    kept.pop_back();
  }
  if (kept.empty()) {
    forget_all();
    return;
  }
  model_.select(*state_, kept);
  if (proposer_) {
    proposer_->select(kept);
  }
  std::vector<Row> rows;
  rows.reserve(rows_.size());
  for (const int64_t r : kept) {
    rows.push_back(std::move(rows_[static_cast<size_t>(r)]));
  }
  rows_ = std::move(rows);
}

// Rows that the context has become too small for begin anew, with half of it, so that this is rare.
void TextRows::set_aside_full() {
  std::vector<size_t> which;
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (full(rows_[r])) {
      which.push_back(r);
    }
  }
  std::vector<Row> aside;
  aside.reserve(which.size());
  for (const size_t r : which) {
    aside.push_back(std::move(rows_[r]));
  }
  take_out(std::move(which));
  for (auto row = aside.rbegin(); row != aside.rend(); ++row) {
    row->shown = std::ssize(row->ids) - std::max<int64_t>(1, model_.context() / 2);
    waiting_.push_front({std::move(*row)});
  }
}

std::vector<TextAdvance> TextRows::step() {
  Turn turn;
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (said(waiting->row) < waiting->row.request.options.max_tokens) {
      ++waiting;
    } else {
      turn.told.push_back(finish(waiting->row, GenerateEnd::length, {.row = waiting->row.number}));
      waiting = waiting_.erase(waiting);
    }
  }
  set_aside_full();
  go_on(turn);
  prefill(turn);
  say(turn);
  return std::move(turn.told);
}

// All rows in the state: what follows what they said last. If that fails, nobody knows what is in
// the state: all leave.
void TextRows::go_on(Turn& turn) {
  if (rows_.empty()) {
    return;
  }
  try {
    const Judged judged = judge();
    turn.drawn = draw_tokens(0, judged);
    take_back(judged, turn.drawn);
  } catch (...) {
    fail_all(turn);
  }
}

// What is proposed for each row: no more than it may say, and than the context has room for.
std::vector<std::vector<Proposal>> TextRows::proposals() const {
  std::vector<ProposalRow> rows;
  for (const Row& row : rows_) {
    const GenerateOptions& options = row.request.options;
    int64_t most = options.max_tokens - said(row) - 1;
    if (model_.context() > 0) {
      most = std::min(most, model_.context() - (std::ssize(row.ids) - row.shown));
    }
    rows.push_back({.ids = std::span(row.ids).subspan(static_cast<size_t>(row.shown)),
                    .options = options,
                    .sample = row.request.sample,
                    .said = said(row),
                    .most = most});
  }
  return proposer_->propose(rows);
}

// Shows all rows what they said last and what is proposed behind it.
TextRows::Judged TextRows::judge() const {
  Judged judged;
  if (!proposer_) {
    std::vector<int32_t> last;
    for (const Row& row : rows_) {
      last.push_back(row.ids.back());
    }
    judged.add(model_.step(Tensor::from_ints(last, {std::ssize(last), 1}), *state_),
               std::vector<std::vector<Proposal>>(last.size()));
    return judged;
  }
  std::vector<std::vector<Proposal>> proposed = proposals();
  size_t width = 0;
  for (const std::vector<Proposal>& own : proposed) {
    width = std::max(width, own.size() + 1);
  }
  std::vector<int64_t> lengths;
  std::vector<int32_t> tokens;
  for (size_t r = 0; r < rows_.size(); ++r) {
    tokens.push_back(rows_[r].ids.back());
    for (const Proposal& proposal : proposed[r]) {
      tokens.push_back(proposal.id);
    }
    lengths.push_back(std::ssize(proposed[r]) + 1);
    tokens.resize((r + 1) * width, tokens.back());
  }
  const auto& model = dynamic_cast<const VerifyingModel&>(model_);
  const Verified verified =
      model.verify(Tensor::from_ints(tokens, {std::ssize(rows_), static_cast<int64_t>(width)}),
                   lengths, *state_);
  judged.hidden = verified.hidden;
  judged.add(verified.logits, std::move(proposed));
  return judged;
}

// Proposals that do not stand were never shown.
void TextRows::take_back(const Judged& judged, const std::vector<Drawn>& drawn) const {
  if (!proposer_) {
    return;
  }
  std::vector<int64_t> taken, dropped, last;
  int64_t first = 0;
  for (size_t r = 0; r < drawn.size(); ++r) {
    const int64_t proposed = std::ssize(judged.rows[r].proposed);
    taken.push_back(std::max<int64_t>(std::ssize(drawn[r].tokens) - 1, 0));
    dropped.push_back(proposed - taken.back());
    last.push_back(first + taken.back());
    first += proposed + 1;
  }
  dynamic_cast<const VerifyingModel&>(model_).roll_back(*state_, dropped);
  proposer_->tell(taken, select_rows(judged.hidden, last));
}

// Handles an exception: every row in the state leaves, and the next ones begin
// with a new one.
void TextRows::fail_all(Turn& turn) {
  for (const Row& row : rows_) {
    turn.told.push_back({.row = row.number, .error = std::current_exception()});
  }
  turn.drawn.clear();
  turn.judged = {};
  forget_all();
}

void TextRows::forget_all() {
  rows_.clear();
  state_.reset();
  if (proposer_) {
    proposer_->clear();
  }
}

// Which rows are shown something next; `room` tokens are left of those in this step. None: not now.
TextRows::Group TextRows::next_group(int64_t room) {
  const auto left = [](const Waiting& waiting) {
    return std::ssize(waiting.row.ids) - waiting.row.shown - waiting.done;
  };
  const bool alone = waiting_.front().state != nullptr || left(waiting_.front()) > prefill_.piece;
  Group group{.width = std::min(left(waiting_.front()), prefill_.piece)};
  if (group.width > room && room < prefill_.tokens) {
    return group;
  }
  group.rows.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  for (auto next = waiting_.begin(); !alone && next != waiting_.end();) {
    const int64_t width = std::max(group.width, left(*next));
    if (next->state == nullptr && width <= prefill_.piece &&
        width <= room / (std::ssize(group.rows) + 1)) {
      group.width = width;
      group.rows.push_back(std::move(*next));
      next = waiting_.erase(next);
    } else {
      ++next;
    }
  }
  return group;
}

// Shows the row its next tokens, at most a piece of them; several rows that are new, all. True when
// they have seen their prompts.
bool TextRows::show(Group& group) {
  std::vector<int64_t> lengths;
  std::vector<int32_t> tokens(group.rows.size() * static_cast<size_t>(group.width), 0);
  auto to = tokens.begin();
  for (Waiting& waiting : group.rows) {
    const auto from = waiting.row.ids.begin() + waiting.row.shown + waiting.done;
    lengths.push_back(std::min(waiting.row.ids.end() - from, group.width));
    std::copy_n(from, lengths.back(), to);
    waiting.done += lengths.back();
    to += group.width;
  }
  const bool equal = std::all_of(lengths.begin(), lengths.end(),
                                 [&](int64_t length) { return length == group.width; });
  Waiting& first = group.rows.front();
  group.state = first.state ? std::move(first.state) : model_.start();
  group.drafted = std::move(first.drafted);
  const Tensor shown = Tensor::from_ints(tokens, {std::ssize(group.rows), group.width});
  const std::span<const int64_t> own = equal ? std::span<const int64_t>() : lengths;
  group.next = model_.step(shown, *group.state, own).to(DType::f32);
  if (proposer_) {
    proposer_->show(shown, own, group.drafted);
  }
  return first.done == std::ssize(first.row.ids) - first.row.shown;
}

// Puts rows that have seen their prompts behind the others. If that fails half-way, nobody knows
// what is in the state: all leave, those that were there and those that came.
void TextRows::join(Group& group, Turn& turn) {
  try {
    rows_.reserve(rows_.size() + group.rows.size());
    turn.judged.add(group.next, std::vector<std::vector<Proposal>>(group.rows.size()));
    if (rows_.empty()) {
      state_ = std::move(group.state);
    } else {
      model_.join(*state_, *group.state);
    }
    if (proposer_) {
      proposer_->join(std::move(group.drafted), group.rows.size());
    }
    for (Waiting& waiting : group.rows) {
      rows_.push_back(std::move(waiting.row));
    }
  } catch (...) {
    fail_all(turn);
    for (const Waiting& waiting : group.rows) {
      turn.told.push_back({.row = waiting.row.number, .error = std::current_exception()});
    }
  }
}

// Shows prompts to rows that wait; those that have seen theirs come behind the others.
void TextRows::prefill(Turn& turn) {
  int64_t room = prefill_.tokens > 0 ? prefill_.tokens : std::numeric_limits<int64_t>::max();
  while (!waiting_.empty() && room > 0) {
    Group group = next_group(room);
    if (group.rows.empty()) {
      return;
    }
    room -= std::ssize(group.rows) * group.width;
    bool ready = false;
    try {
      ready = show(group);
    } catch (...) {
      for (const Waiting& waiting : group.rows) {
        turn.told.push_back({.row = waiting.row.number, .error = std::current_exception()});
      }
      continue;
    }
    if (ready) {
      join(group, turn);
    } else {
      group.rows.front().state = std::move(group.state);
      group.rows.front().drafted = std::move(group.drafted);
      waiting_.push_front(std::move(group.rows.front()));
    }
  }
}

// Each proposal counts if it can pass for a token that the model drew (Leviathan et al. 2023).
// Where one does not, and behind the last one, a token of the model's own follows.
std::vector<DrawnToken> TextRows::choose(const Row& row, const Judged::One& judged) const {
  const TextRequest& request = row.request;
  const GenerateOptions& options = request.options;
  std::vector<int32_t> ids = row.ids;
  std::vector<DrawnToken> tokens;
  for (size_t i = 0; i < judged.logits.size(); ++i) {
    // Rounded-up vocabularies have logits of tokens that do not exist.
    const std::span<float> logits(judged.logits[i], static_cast<size_t>(tokenizer_.size()));
    DrawnToken& token = tokens.emplace_back();
    double total = 0.0;
    if (request.log_probabilities) {
      total = log_total(logits);
      token.likeliest = likeliest_of(logits, total, *request.log_probabilities);
    }
    forbid(options.forbidden, logits);
    const auto uniform = [&](SpeculationDraw draw) {
      return speculation_uniform(options.seed, request.sample, draw,
                                 said(row) + static_cast<int64_t>(i));
    };
    bool stands = false;
    if (i == judged.proposed.size()) {
      token.id = sample(logits, ids, options.sampling, uniform(SpeculationDraw::token));
    } else {
      const Proposal& proposal = judged.proposed[i];
      const std::vector<float> p = probabilities(logits, ids, options.sampling);
      const auto at = static_cast<size_t>(proposal.id);
      std::vector<float> q = proposal.probabilities;
      if (q.empty()) {  // it was certain
        q.resize(p.size(), 0.0F);
        q[at] = 1.0F;
      }
      stands = takes_over(p[at], q[at], uniform(SpeculationDraw::test));
      token.id = stands ? proposal.id : draw_rest(p, q, uniform(SpeculationDraw::token));
    }
    if (request.log_probabilities) {
      token.log_probability = static_cast<float>(logits[static_cast<size_t>(token.id)] - total);
    }
    if (!stands) {
      break;
    }
    ids.push_back(token.id);
  }
  return tokens;
}

// For the rows from `first` on.
std::vector<TextRows::Drawn> TextRows::draw_tokens(size_t first, const Judged& judged) const {
  std::vector<Drawn> drawn(judged.rows.size());
  parallel_tasks(std::ssize(drawn), [&](int64_t task) {
    const auto r = static_cast<size_t>(task);
    try {
      drawn[r].tokens = choose(rows_[first + r], judged.rows[r]);
    } catch (...) {
      drawn[r].error = std::current_exception();
    }
  });
  return drawn;
}

// All rows say what was drawn for them, and those that came their first token; rows that end leave.
void TextRows::say(Turn& turn) {
  std::vector<Drawn> came = draw_tokens(turn.drawn.size(), turn.judged);
  std::move(came.begin(), came.end(), std::back_inserter(turn.drawn));
  std::vector<size_t> gone;
  for (size_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    Drawn& drawn = turn.drawn[r];
    ++row.passes;
    bool left = drawn.error != nullptr;
    if (left) {
      turn.told.push_back({.row = row.number, .error = drawn.error});
    }
    for (size_t i = 0; i < drawn.tokens.size() && !left; ++i) {
      turn.told.push_back(accept(row, std::move(drawn.tokens[i])));
      left = turn.told.back().end.has_value();
    }
    if (left) {
      gone.push_back(r);
    }
  }
  take_out(std::move(gone));
}

TextAdvance TextRows::accept(Row& row, DrawnToken token) const {
  TextAdvance told{.row = row.number};
  const int32_t id = token.id;
  if (id == tokenizer_.special().end && !row.request.options.ignore_end) {
    return finish(row, GenerateEnd::end_token, std::move(told));
  }
  row.ids.push_back(id);
  told.text = row.stream.push(id);
  told.token = std::move(token);
  if (row.stream.stopped()) {
    return finish(row, GenerateEnd::stop_text, std::move(told));
  }
  if (row.request.more && !row.request.more(id)) {
    return finish(row, GenerateEnd::enough, std::move(told));
  }
  if (said(row) >= row.request.options.max_tokens) {
    return finish(row, GenerateEnd::length, std::move(told));
  }
  return told;
}

TextAdvance TextRows::finish(Row& row, GenerateEnd end, TextAdvance told) {
  told.text += row.stream.finish();
  // What was held back may have a stop text too.
  told.end = row.stream.stopped() ? GenerateEnd::stop_text : end;
  told.forgotten = row.shown;
  told.passes = row.passes;
  return told;
}

}  // namespace heed
