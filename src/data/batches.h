// Pairs of sequences as padded batches, packed by a budget of tokens.
//
// An epoch reads the corpus in pools of many pairs. Each pool is shuffled, sorted by length so that
// little is padding, cut into batches, and the batches are shuffled. All of it is a function of
// (seed, epoch, pool), so that three numbers, a DataState, say where a run stands: with the same
// options and files, a stream that starts there yields the same batches as an uninterrupted one.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/config.h"
#include "base/ignore.h"
#include "data/text/pairs.h"

namespace heed {

// Where a stream stands: its next batch.
struct DataState {
  int64_t epoch = 0;
  int64_t pool = 0;   // of the epoch
  int64_t batch = 0;  // of the pool

  bool operator==(const DataState&) const = default;
  template <typename Visitor>
  void fields(Visitor& v) {
    v("epoch", epoch, "passes over the corpus that are complete", Range{.least = 0});
    v("pool", pool, "pools of this epoch that are complete", Range{.least = 0});
    v("batch", batch, "batches of this pool that are complete", Range{.least = 0});
  }
};

struct BatchOptions {
  int64_t batch_tokens = 4096;  // of a batch at most, per side, padding included
  bool source_end = true;       // whether END follows the source
  int64_t pool = 200'000;       // pairs that are shuffled and sorted together, kept in memory
  uint64_t seed = 1;            // of the order of the pairs
  int64_t epochs = 0;           // passes over the corpus; 0: without end
};

// B pairs, padded to widths S and T, which are multiples of 8 so that few shapes occur.
struct HostBatch {
  int64_t rows = 0;                     // B
  int64_t source_width = 0;             // S
  int64_t target_width = 0;             // T
  std::vector<int32_t> source;          // [B,S] ids, END if wanted, PAD
  std::vector<int32_t> source_lengths;  // [B] END included
  std::vector<int32_t> input;           // [B,T] START, ids, PAD
  std::vector<int32_t> target;          // [B,T] ids, END, kIgnore
  std::vector<int32_t> target_lengths;  // [B] of input and target: one more than ids
  std::vector<int64_t> pairs;           // [B] each row's index in the pool or the span
  int64_t source_tokens = 0;            // without padding
  int64_t target_tokens = 0;
  int64_t epoch = 0;
  DataState after;  // what to continue from once this batch is done
};

// Pairs of sequences in one flat array.
class PairArray {
 public:
  void clear();
  void push_back(const EncodedPair& pair);
  int64_t size() const { return static_cast<int64_t>(ends_.size() / 2); }
  std::span<const int32_t> source(int64_t pair) const { return sequence(2 * pair); }
  std::span<const int32_t> target(int64_t pair) const { return sequence(2 * pair + 1); }

 private:
  std::span<const int32_t> sequence(int64_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[static_cast<size_t>(i - 1)];
    return std::span(ids_).subspan(begin, ends_[static_cast<size_t>(i)] - begin);
  }

  std::vector<int32_t> ids_;
  std::vector<size_t> ends_;  // of source, target, source, ...
};

// For validation: every pair once, shortest first, always the same. A pair longer than the budget
// is a batch of its own.
std::vector<HostBatch> make_batches(std::span<const EncodedPair> pairs, const BatchOptions& options,
                                    const SpecialIds& source, const SpecialIds& target);

// Batches for training, epoch after epoch. A corpus that fits into one pool is read and encoded
// once; a larger one is read again in each epoch.
//
// The constructor reads the first pool, or all pools up to where it continues. It also reads a
// larger corpus once in full, so that errors in the files show before training begins. next()
// belongs to one thread at a time; the other functions may be called from any.
class BatchStream {
 public:
  explicit BatchStream(Corpus corpus, const BatchOptions& options, const DataState& state = {});

  // False after the last epoch, or if `stop` interrupts the reading of a pool.
  bool next(HostBatch& batch, const std::stop_token& stop = {});

  // The same in every epoch; unknown for a corpus of more than one pool.
  std::optional<int64_t> epoch_batches() const { return epoch_batches_; }
  // For a whole pass over the corpus, or for the first one so far.
  SkipReport report() const;

 private:
  struct Rows {
    int64_t begin = 0;
    int64_t end = 0;
  };

  void check_options() const;
  void check_whole_corpus() const;
  bool read_pool(const std::stop_token& stop);
  void plan();
  void advance();

  Corpus corpus_;
  BatchOptions options_;
  DataState state_;

  // The pass over the files.
  std::optional<PairStream> stream_;
  EncodedPair ahead_;  // the first pair of the next pool, if there is one
  bool has_ahead_ = false;

  // The pool, and its batches once it is planned: rows order_[begin, end).
  PairArray pairs_;
  bool last_pool_ = false;  // of the epoch
  bool one_pool_ = false;   // of the corpus
  bool planned_ = false;
  std::vector<int64_t> order_;
  std::vector<Rows> batches_;
  std::optional<int64_t> epoch_batches_;

  mutable std::mutex report_mutex_;
  SkipReport report_;
};

}  // namespace heed
