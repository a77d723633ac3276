#include "data/batches.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "data/prefetch.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;
using testing::WordTokenizer;
using Ids = std::vector<int32_t>;

constexpr SpecialIds kSource = {.pad = 900, .start = 901, .end = 902, .unk = 903};
constexpr SpecialIds kTarget = {.pad = 910, .start = 911, .end = 912, .unk = 913};

// Pair k is "1000+k ..." with lengths that look random, from 1 to 30 words.
std::string numbers(int pairs, int side) {
  std::string text;
  for (int k = 0; k < pairs; ++k) {
    const int length = 1 + (k * 7919 + 31 * side) % (side == 0 ? 30 : 27);
    for (int i = 0; i < length; ++i) {
      text += std::to_string(1000 * (1 + i) + k) + " ";
    }
    text += "\n";
  }
  return text;
}

class Batches : public ::testing::Test {
 protected:
  Corpus corpus(int pairs, int64_t max_length = 31) const {
    return {
        .files = {{folder_.write("en", numbers(pairs, 0)), folder_.write("de", numbers(pairs, 1))}},
        .source = std::make_shared<WordTokenizer>(kSource),
        .target = std::make_shared<WordTokenizer>(kTarget),
        .max_length = max_length};
  }
  TemporaryFolder folder_;
};

std::vector<HostBatch> take(BatchStream& stream, size_t count) {
  std::vector<HostBatch> batches(count);
  for (HostBatch& batch : batches) {
    EXPECT_TRUE(stream.next(batch));
  }
  return batches;
}

std::vector<HostBatch> take_all(BatchStream& stream) {
  std::vector<HostBatch> batches;
  for (HostBatch batch; stream.next(batch);) {
    batches.push_back(batch);
  }
  return batches;
}

void expect_equal(const HostBatch& a, const HostBatch& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.source_width, b.source_width);
  EXPECT_EQ(a.target_width, b.target_width);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.source_lengths, b.source_lengths);
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.target_lengths, b.target_lengths);
  EXPECT_EQ(a.pairs, b.pairs);
  EXPECT_EQ(a.source_tokens, b.source_tokens);
  EXPECT_EQ(a.target_tokens, b.target_tokens);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.after, b.after);
}

// Which pairs of `numbers` a batch holds, after every element of it was looked at.
std::vector<int> pairs_in(const HostBatch& batch) {
  std::vector<int> found;
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto r = static_cast<size_t>(row);
    const int k = batch.source[static_cast<size_t>(row * batch.source_width)] - 1004;
    found.push_back(k);
    const int source_length = 1 + k * 7919 % 30;
    const int target_length = 1 + (k * 7919 + 31) % 27;
    EXPECT_EQ(batch.source_lengths[r], source_length + 1);
    EXPECT_EQ(batch.target_lengths[r], target_length + 1);
    source_tokens += source_length + 1;
    target_tokens += target_length + 1;
    for (int64_t i = 0; i < batch.source_width; ++i) {
      const int expected = i < source_length    ? static_cast<int>(1000 * (1 + i)) + k + 4
                           : i == source_length ? kSource.end
                                                : kSource.pad;
      EXPECT_EQ(batch.source[static_cast<size_t>(row * batch.source_width + i)], expected);
    }
    for (int64_t i = 0; i < batch.target_width; ++i) {
      const int id = static_cast<int>(1000 * (1 + i)) + k + 4;
      const auto at = static_cast<size_t>(row * batch.target_width + i);
      EXPECT_EQ(batch.target[at], i < target_length ? id : i == target_length ? kTarget.end : -100);
      EXPECT_EQ(batch.input[at], i == 0               ? kTarget.start
                                 : i <= target_length ? id - 1000
                                                      : kTarget.pad);
    }
  }
  EXPECT_EQ(batch.source_tokens, source_tokens);
  EXPECT_EQ(batch.target_tokens, target_tokens);
  return found;
}

TEST_F(Batches, HoldEveryPairOnceAnEpochWithinTheBudget) {
  for (const int64_t pool : {1000, 200, 64}) {
    BatchStream stream(corpus(200), {.batch_tokens = 256, .pool = pool, .epochs = 3});
    std::map<int64_t, std::multiset<int>> seen;
    for (const HostBatch& batch : take_all(stream)) {
      EXPECT_GE(batch.rows, 1);
      EXPECT_EQ(batch.source_width % 8, 0);
      EXPECT_EQ(batch.target_width % 8, 0);
      EXPECT_LE(batch.rows * batch.source_width, 256);
      EXPECT_LE(batch.rows * batch.target_width, 256);
      for (const int k : pairs_in(batch)) {
        seen[batch.epoch].insert(k);
      }
    }
    std::multiset<int> each;
    for (int k = 0; k < 200; ++k) {
      each.insert(k);
    }
    EXPECT_EQ(seen.size(), 3U) << pool;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(seen[epoch], each) << pool << " " << epoch;
    }
  }
}

// Resumes at every batch of three epochs, among them the borders of pools and epochs.
TEST_F(Batches, ContinueExactlyFromEveryPosition) {
  for (const int64_t pool : {100, 35, 50}) {  // one pool; 35, 35, 30; 50, 50
    const Corpus files = corpus(100);
    const BatchOptions options = {.batch_tokens = 128, .pool = pool, .seed = 7, .epochs = 3};
    BatchStream undisturbed(files, options);
    const std::vector<HostBatch> batches = take_all(undisturbed);
    ASSERT_GT(batches.size(), 60U);
    EXPECT_EQ(batches.back().after, (DataState{.epoch = 3}));
    for (size_t i = 0; i < batches.size(); ++i) {
      // As a checkpoint keeps it.
      DataState state;
      config::read(state, config::write(batches[i].after), "checkpoint");
      BatchStream resumed(files, options, state);
      // To the end at times, else only across the next few batches.
      HostBatch batch;
      const size_t end = i % 10 == 0 ? batches.size() : std::min(i + 4, batches.size());
      for (size_t k = i + 1; k < end; ++k) {
        ASSERT_TRUE(resumed.next(batch));
        expect_equal(batch, batches[k]);
      }
      if (end == batches.size()) {
        EXPECT_FALSE(resumed.next(batch));
      }
    }
  }
}

TEST_F(Batches, SayWhenAnEpochEnds) {
  for (const int64_t pool : {100, 50}) {
    BatchStream stream(corpus(100), {.batch_tokens = 128, .pool = pool});
    std::vector<HostBatch> batches;
    std::set<int64_t> last_of;
    for (HostBatch batch; last_of.size() < 2;) {
      ASSERT_TRUE(stream.next(batch));
      batches.push_back(batch);
      if (batch.after.epoch > batch.epoch) {
        EXPECT_EQ(batch.after, (DataState{.epoch = batch.epoch + 1}));
        last_of.insert(batch.epoch);
      }
    }
    const auto rows = [&](int64_t epoch) {
      return std::accumulate(batches.begin(), batches.end(), int64_t{0},
                             [&](int64_t sum, const HostBatch& batch) {
                               return sum + (batch.epoch == epoch ? batch.rows : 0);
                             });
    };
    EXPECT_EQ(rows(0), 100);
    EXPECT_EQ(rows(1), 100);
    if (pool == 100) {
      EXPECT_EQ(stream.epoch_batches(), static_cast<int64_t>(batches.size()) / 2);
    } else {
      EXPECT_EQ(stream.epoch_batches(), std::nullopt);
    }
  }
}

std::vector<std::vector<int64_t>> rows_of(BatchStream& stream, size_t count) {
  std::vector<std::vector<int64_t>> rows;
  for (const HostBatch& batch : take(stream, count)) {
    rows.push_back(batch.pairs);
  }
  return rows;
}

TEST_F(Batches, DependOnSeedAndEpoch) {
  const Corpus files = corpus(200);
  const auto first = [&](uint64_t seed, int64_t epoch) {
    BatchStream stream(files, {.batch_tokens = 256, .seed = seed}, {.epoch = epoch});
    return rows_of(stream, 10);
  };
  EXPECT_EQ(first(1, 0), first(1, 0));
  EXPECT_NE(first(1, 0), first(2, 0));
  EXPECT_NE(first(1, 0), first(1, 1));
  // Not only other batches' order, but other pairs in a batch.
  auto one = first(1, 0);
  for (auto& rows : one) {
    std::sort(rows.begin(), rows.end());
  }
  BatchStream stream(files, {.batch_tokens = 256, .seed = 2});
  size_t common = 0;
  for (std::vector<int64_t> rows : rows_of(stream, static_cast<size_t>(*stream.epoch_batches()))) {
    std::sort(rows.begin(), rows.end());
    common += static_cast<size_t>(std::count(one.begin(), one.end(), rows));
  }
  EXPECT_LT(common, 3U);
}

TEST_F(Batches, AreReadOnceIfTheyFitIntoOnePool) {
  const Corpus files = corpus(50);
  BatchStream stream(files, {.batch_tokens = 128, .pool = 50, .epochs = 2});
  std::filesystem::remove(files.files[0].source);
  EXPECT_EQ(take_all(stream).size(), static_cast<size_t>(2 * *stream.epoch_batches()));
}

TEST_F(Batches, CanDoWithoutEndInTheSource) {
  BatchStream stream(corpus(50), {.batch_tokens = 128, .source_end = false, .epochs = 1});
  for (const HostBatch& batch : take_all(stream)) {
    for (int64_t row = 0; row < batch.rows; ++row) {
      const auto begin = batch.source.begin() + row * batch.source_width;
      const int length = 1 + (*begin - 1004) * 7919 % 30;
      EXPECT_EQ(batch.source_lengths[static_cast<size_t>(row)], length);
      EXPECT_EQ(std::count(begin, begin + batch.source_width, kSource.end), 0);
      EXPECT_EQ(std::count(begin, begin + batch.source_width, kSource.pad),
                batch.source_width - length);
    }
  }
}

TEST_F(Batches, ReportWhatWasSkipped) {
  const std::string tsv = "1\t2\n\n3\t\n" + std::string("4\t5\n") + "6\t7 8 9\n";
  const auto words = std::make_shared<WordTokenizer>();
  const Corpus columns = {.files = {{folder_.write("tsv", tsv), {}}},
                          .source = words,
                          .target = words,
                          .max_length = 2};
  const std::string expected =
      "skipped 3 of 5 pairs: 1 without two columns (line 2), 1 empty (line 3), 1 over-long (line "
      "5)";
  BatchStream one(columns, {});
  EXPECT_EQ(one.report().text(), expected);
  BatchStream two(columns, {.pool = 1});
  take(two, 5);
  EXPECT_EQ(two.report().text(), expected);
}

TEST_F(Batches, OfNothingAreAnErrorWithAdvice) {
  Corpus files = corpus(20);
  const std::string names = files.files[0].source.string() + ", " + files.files[0].target.string();
  files.files[0].source = folder_.write("en", std::string(20, '\n'));
  EXPECT_EQ(error_of([&] { BatchStream(files, {}); }),
            "[batches] " + names +
                " has no pair to train on: skipped 20 of 20 pairs: 20 empty (lines 1, 2, 3, 4, "
                "5, ...); check the files, the tokenizers and max_length (now 31)");
}

// Also if the fault lies behind the first pool: the constructor finds it.
TEST_F(Batches, OfUnequalFilesAreAnErrorAtOnce) {
  Corpus files = corpus(100);
  files.files[0].source = folder_.write("en", numbers(99, 0));
  for (const int64_t pool : {1000, 10}) {
    const std::string error = error_of([&] { BatchStream(files, {.pool = pool}); });
    EXPECT_NE(error.find("en has 99 lines, but "), std::string::npos) << error;
    EXPECT_NE(error.find("de has 100; "), std::string::npos) << error;
  }
}

TEST_F(Batches, CheckTheirOptions) {
  const Corpus files = corpus(20);
  EXPECT_EQ(error_of([&] { BatchStream(files, {.batch_tokens = 24}); }),
            "[batches] batch_tokens is 24, but a pair of max_length 31 needs 32 with END and "
            "padding; raise the one or lower the other");
  const std::string names = files.files[0].source.string() + ", " + files.files[0].target.string();
  EXPECT_EQ(error_of([&] { BatchStream(files, {.pool = 10}, {.pool = 2}); }),
            "[batches] the run continues in pool 2 of the corpus, but " + names +
                " has only 2; have the files or the options changed?");
  EXPECT_EQ(error_of([&] { BatchStream(files, {}, {.batch = 1}); }),
            "[batches] the run continues with batch 1 of pool 0, but " + names +
                " has only 1 there; have the files or the options changed?");
}

TEST_F(Batches, ForValidationAreSortedAndNameTheirPairs) {
  std::vector<EncodedPair> pairs;
  PairStream stream(corpus(60));
  for (EncodedPair pair; stream.next(pair);) {
    pairs.push_back(pair);
  }
  const auto batches = make_batches(pairs, {.batch_tokens = 128}, kSource, kTarget);
  std::multiset<int64_t> seen;
  int64_t width = 0;
  for (const HostBatch& batch : batches) {
    EXPECT_LE(batch.rows * std::max(batch.source_width, batch.target_width), 128);
    EXPECT_GE(batch.source_width, width);
    width = batch.source_width;
    const std::vector<int> found = pairs_in(batch);
    EXPECT_EQ(std::vector<int64_t>(found.begin(), found.end()), batch.pairs);
    seen.insert(batch.pairs.begin(), batch.pairs.end());
  }
  EXPECT_EQ(seen.size(), 60U);
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 60U);
  EXPECT_TRUE(make_batches({}, {}, kSource, kTarget).empty());
}

TEST_F(Batches, ForValidationMayExceedTheBudgetByOneLongPair) {
  const std::vector<EncodedPair> pairs = {{Ids(3, 5), Ids(3, 5), 1}, {Ids(50, 5), Ids(2, 5), 2}};
  const auto batches = make_batches(pairs, {.batch_tokens = 16}, {}, {});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[1].pairs, (std::vector<int64_t>{1}));
  EXPECT_EQ(batches[1].source_width, 56);
  EXPECT_EQ(batches[1].target_width, 8);
}

TEST_F(Batches, ArePrefetchedUnchanged) {
  const Corpus files = corpus(100);
  const BatchOptions options = {.batch_tokens = 128, .pool = 35, .epochs = 2};
  BatchStream direct(files, options);
  BatchStream stream(files, options);
  Prefetch<HostBatch> prefetch(
      [&](HostBatch& batch, const std::stop_token& stop) { return stream.next(batch, stop); });
  HostBatch batch;
  for (const HostBatch& expected : take_all(direct)) {
    ASSERT_TRUE(prefetch.next(batch));
    expect_equal(batch, expected);
    EXPECT_LE(stream.report().read, 100);
  }
  EXPECT_FALSE(prefetch.next(batch));
}

// A stream that is told to stop while it reads a pool goes on from there if asked again.
TEST_F(Batches, CanBeInterrupted) {
  const Corpus files = corpus(100);
  const BatchOptions options = {.batch_tokens = 128, .pool = 35, .epochs = 1};
  BatchStream direct(files, options);
  BatchStream stream(files, options);
  std::stop_source stopped;
  stopped.request_stop();
  HostBatch batch;
  for (const HostBatch& expected : take_all(direct)) {
    if (!stream.next(batch, stopped.get_token())) {
      ASSERT_TRUE(stream.next(batch));
    }
    expect_equal(batch, expected);
  }
}

TEST(BatchesMulti30k, HaveLittlePadding) {
  const char* const place = std::getenv("HEED_DATA");
  const std::filesystem::path data =
      std::filesystem::path(place != nullptr ? place : "../shared/data") / "multi30k";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "skipped: no data at " << data;
  }
  const auto words = std::make_shared<WordTokenizer>();
  const Corpus corpus = {.files = {{data / "train.en.gz", data / "train.de.gz"}},
                         .source = words,
                         .target = words,
                         .max_length = 100};
  for (const int64_t batch_tokens : {2048, 4096, 25'000}) {
    BatchStream stream(corpus, {.batch_tokens = batch_tokens, .epochs = 1});
    int64_t cells = 0;    // of the batches
    int64_t rounded = 0;  // if every row were a multiple of 8 on its own
    int64_t tokens = 0;
    int64_t rows = 0;
    for (const HostBatch& batch : take_all(stream)) {
      rows += batch.rows;
      cells += batch.rows * (batch.source_width + batch.target_width);
      tokens += batch.source_tokens + batch.target_tokens;
      for (const auto* lengths : {&batch.source_lengths, &batch.target_lengths}) {
        for (const int64_t length : *lengths) {
          rounded += (length + 7) / 8 * 8;
        }
      }
    }
    EXPECT_EQ(rows + stream.report().skipped(), 29'000);
    const double beyond = static_cast<double>(cells - rounded) / static_cast<double>(cells);
    const double share = static_cast<double>(cells - tokens) / static_cast<double>(cells);
    EXPECT_LT(beyond, 0.1) << batch_tokens;
    fmt::print("batch_tokens {}: {} batches an epoch, {:.1f} % padding, {:.1f} % beyond rounding\n",
               batch_tokens, *stream.epoch_batches(), 100 * share, 100 * beyond);
  }
}

}  // namespace
}  // namespace heed
