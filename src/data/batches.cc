#include "data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/batch_size.h"
#include "data/shuffle.h"

namespace heed {
namespace {

constexpr int64_t kMultiple = 8;  // widths are multiples of it

int64_t padded(int64_t length) {
  return std::max<int64_t>((length + kMultiple - 1) / kMultiple, 1) * kMultiple;
}

struct Widths {
  int64_t source = 0;
  int64_t target = 0;

  int64_t most() const { return std::max(source, target); }
  Widths operator|(const Widths& other) const {
    return {std::max(source, other.source), std::max(target, other.target)};
  }
};

Widths widths_of(const PairArray& pairs, int64_t pair, bool source_end) {
  return {padded(std::ssize(pairs.source(pair)) + (source_end ? 1 : 0)),
          padded(std::ssize(pairs.target(pair)) + 1)};
}

// Sorts by the source's padded width, then by the target's, which alternately ascends and descends,
// so that neighbours differ little even where the source's width changes. Keeps the order among
// equals.
void sort_by_width(const PairArray& pairs, bool source_end, std::vector<int64_t>& order) {
  struct Keyed {
    int64_t source;
    int64_t target;
    int64_t pair;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(order.size());
  for (const int64_t pair : order) {
    const Widths widths = widths_of(pairs, pair, source_end);
    const bool down = widths.source / kMultiple % 2 == 0;
    keyed.push_back({widths.source, down ? -widths.target : widths.target, pair});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    return std::pair(a.source, a.target) < std::pair(b.source, b.target);
  });
  std::transform(keyed.begin(), keyed.end(), order.begin(), [](const Keyed& k) { return k.pair; });
}

// Cuts the order into batches within the budget and returns where each one ends. The cuts depend on
// padded widths alone, so they are the same whatever the order among equals.
std::vector<int64_t> pack(const PairArray& pairs, const BatchOptions& options,
                          const std::vector<int64_t>& order) {
  std::vector<int64_t> ends;
  Widths widths;
  int64_t begin = 0;
  for (int64_t i = 0; i < std::ssize(order); ++i) {
    const Widths own = widths_of(pairs, order[static_cast<size_t>(i)], options.source_end);
    widths = widths | own;
    if (i > begin && (i + 1 - begin) * widths.most() > options.batch_tokens) {
      ends.push_back(i);
      begin = i;
      widths = own;
    }
  }
  if (!order.empty()) {
    ends.push_back(std::ssize(order));
  }
  return ends;
}

struct RowFormat {
  SpecialIds source;
  SpecialIds target;
  bool source_end = true;
};

void fill_row(HostBatch& batch, int64_t row, const PairArray& pairs, const RowFormat& format) {
  const auto index = static_cast<size_t>(row);
  const std::span source = pairs.source(batch.pairs[index]);
  const std::span target = pairs.target(batch.pairs[index]);
  int32_t* const source_row = batch.source.data() + row * batch.source_width;
  int32_t* const input_row = batch.input.data() + row * batch.target_width;
  int32_t* const target_row = batch.target.data() + row * batch.target_width;

  std::copy(source.begin(), source.end(), source_row);
  if (format.source_end) {
    source_row[source.size()] = format.source.end;
  }
  input_row[0] = format.target.start;
  std::copy(target.begin(), target.end(), input_row + 1);
  std::copy(target.begin(), target.end(), target_row);
  target_row[target.size()] = format.target.end;

  batch.source_lengths[index] = static_cast<int32_t>(source.size()) + (format.source_end ? 1 : 0);
  batch.target_lengths[index] = static_cast<int32_t>(target.size()) + 1;
  batch.source_tokens += batch.source_lengths[index];
  batch.target_tokens += batch.target_lengths[index];
}

// What follows a sequence is never read, so a vocabulary need not have PAD.
int32_t padding(const SpecialIds& special) { return std::max(special.pad, 0); }

void fill(HostBatch& batch, const PairArray& pairs, std::span<const int64_t> rows,
          const RowFormat& format) {
  batch.rows = std::ssize(rows);
  batch.pairs.assign(rows.begin(), rows.end());
  Widths widths;
  for (const int64_t pair : rows) {
    widths = widths | widths_of(pairs, pair, format.source_end);
  }
  batch.source_width = widths.source;
  batch.target_width = widths.target;
  batch.source.assign(static_cast<size_t>(batch.rows * widths.source), padding(format.source));
  batch.input.assign(static_cast<size_t>(batch.rows * widths.target), padding(format.target));
  batch.target.assign(static_cast<size_t>(batch.rows * widths.target), kIgnore);
  batch.source_lengths.resize(rows.size());
  batch.target_lengths.resize(rows.size());
  batch.source_tokens = 0;
  batch.target_tokens = 0;
  for (int64_t row = 0; row < batch.rows; ++row) {
    fill_row(batch, row, pairs, format);
  }
}

}  // namespace

void PairArray::clear() {
  ids_.clear();
  ends_.clear();
}

void PairArray::push_back(const EncodedPair& pair) {
  for (const std::vector<int32_t>* side : {&pair.source, &pair.target}) {
    ids_.insert(ids_.end(), side->begin(), side->end());
    ends_.push_back(ids_.size());
  }
}

std::vector<HostBatch> make_batches(std::span<const EncodedPair> pairs, const BatchOptions& options,
                                    const SpecialIds& source, const SpecialIds& target) {
  PairArray array;
  for (const EncodedPair& pair : pairs) {
    array.push_back(pair);
  }
  std::vector<int64_t> order(pairs.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  sort_by_width(array, options.source_end, order);
  std::vector<HostBatch> batches;
  int64_t begin = 0;
  for (const int64_t end : pack(array, options, order)) {
    fill(batches.emplace_back(), array,
         std::span(order).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
         {.source = source, .target = target, .source_end = options.source_end});
    begin = end;
  }
  return batches;
}

BatchStream::BatchStream(Corpus corpus, const BatchOptions& options, const DataState& state)
    : corpus_(std::move(corpus)), options_(options), state_(state) {
  check_options();
  read_pool({});
  one_pool_ = last_pool_;
  if (!one_pool_) {
    check_whole_corpus();
  }
  for (int64_t pool = 0; pool < state_.pool; ++pool) {
    check(
        !last_pool_,
        "[batches] the run continues in pool {} of the corpus, but {} has only {}; have the files "
        "or the options changed?",
        state_.pool, corpus_.names(), pool + 1);
    pairs_.clear();
    read_pool({});
  }
  plan();
  check(state_.batch >= 0 && state_.batch < std::ssize(batches_),
        "[batches] the run continues with batch {} of pool {}, but {} has only {} there; have the "
        "files or the options changed?",
        state_.batch, state_.pool, corpus_.names(), batches_.size());
  if (one_pool_) {
    epoch_batches_ = std::ssize(batches_);
  }
}

void check_batch_tokens(int64_t batch_tokens, int64_t max_length) {
  const int64_t longest = padded(max_length + 1);
  check(batch_tokens >= longest,
        "[batches] batch_tokens is {}, but a pair of max_length {} needs {} with END and padding; "
        "raise the one or lower the other",
        batch_tokens, max_length, longest);
}

void BatchStream::check_options() const {
  check(!corpus_.files.empty(), "[batches] the corpus has no files");
  check(options_.pool > 0, "[batches] pool is {}, expected at least 1", options_.pool);
  check(options_.epochs >= 0, "[batches] epochs is {}, expected at least 0", options_.epochs);
  check(state_.epoch >= 0 && state_.pool >= 0,
        "[batches] the run continues in epoch {}, pool {}, expected at least 0", state_.epoch,
        state_.pool);
  check_batch_tokens(options_.batch_tokens, corpus_.max_length);
}

// Otherwise an error near the end of a corpus that is read in pools would show up hours later.
void BatchStream::check_whole_corpus() const {
  for (const PairFiles& files : corpus_.files) {
    check(files.source != "-" && files.target != "-",
          "[batches] standard input has more pairs than one pool of {}, and cannot be read again "
          "for the next epoch; write it to a file first, or raise pool",
          options_.pool);
  }
  TextPairs texts(corpus_.files);
  for (TextPair pair; texts.next(pair);) {
  }
}

// Fills pairs_ up to the size of a pool. False if interrupted; the next call goes on from there.
bool BatchStream::read_pool(const std::stop_token& stop) {
  if (!stream_) {
    stream_.emplace(corpus_);
    has_ahead_ = stream_->next(ahead_);
  }
  while (has_ahead_ && pairs_.size() < options_.pool) {
    if (stop.stop_requested()) {
      return false;
    }
    pairs_.push_back(ahead_);
    has_ahead_ = stream_->next(ahead_);
  }
  check(pairs_.size() > 0,
        "[batches] {} has no pair to train on: {}; check the files, the tokenizers and "
        "max_length (now {})",
        corpus_.names(), stream_->report().text(), corpus_.max_length);
  if (const std::lock_guard lock(report_mutex_); stream_->report().read > report_.read) {
    report_ = stream_->report();
  }
  last_pool_ = !has_ahead_;
  if (last_pool_) {
    stream_.reset();
  }
  return true;
}

void BatchStream::plan() {
  const auto random = [&](const char* what) {
    return RandomStream{options_.seed,
                        stream_of(fmt::format("data {} {} {}", what, state_.epoch, state_.pool))};
  };
  order_.resize(static_cast<size_t>(pairs_.size()));
  std::iota(order_.begin(), order_.end(), int64_t{0});
  shuffle(order_, random("pairs"));
  sort_by_width(pairs_, options_.source_end, order_);
  batches_.clear();
  for (const int64_t end : pack(pairs_, options_, order_)) {
    batches_.push_back({batches_.empty() ? 0 : batches_.back().end, end});
  }
  shuffle(batches_, random("batches"));
  planned_ = true;
}

bool BatchStream::next(HostBatch& batch, const std::stop_token& stop) {
  if (options_.epochs > 0 && state_.epoch >= options_.epochs) {
    return false;
  }
  if (!planned_) {
    if (!one_pool_ && !read_pool(stop)) {
      return false;
    }
    plan();
  }
  const Rows rows = batches_[static_cast<size_t>(state_.batch)];
  fill(batch, pairs_,
       std::span(order_).subspan(static_cast<size_t>(rows.begin),
                                 static_cast<size_t>(rows.end - rows.begin)),
       {.source = corpus_.source->special(),
        .target = corpus_.target->special(),
        .source_end = options_.source_end});
  batch.epoch = state_.epoch;
  advance();
  batch.after = state_;
  return true;
}

void BatchStream::advance() {
  if (++state_.batch < std::ssize(batches_)) {
    return;
  }
  state_ = last_pool_ ? DataState{.epoch = state_.epoch + 1}
                      : DataState{.epoch = state_.epoch, .pool = state_.pool + 1};
  planned_ = false;
  if (!one_pool_) {
    pairs_.clear();
  }
}

SkipReport BatchStream::report() const {
  const std::lock_guard lock(report_mutex_);
  return report_;
}

}  // namespace heed
