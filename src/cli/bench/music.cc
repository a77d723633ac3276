#include "cli/bench/music.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "cli/bench/case.h"
#include "data/music/music_tokens.h"
#include "decode/sampling.h"
#include "models/language/music_transformer.h"

namespace heed::cli {
namespace {

constexpr double kMusicSeconds = 60.0;
// Events of a performance in a second of piano music: `heed music encode` makes 1,562,208 of ASAP's
// 166 recordings, which last 39,969 s by their TIME_SHIFTs.
constexpr double kEventsPerSecond = 39.09;
constexpr int64_t kMusicTokens = static_cast<int64_t>(kMusicSeconds * kEventsPerSecond);

constexpr std::array<int64_t, 5> kLengths{256, 512, 1024, 2048, kMusicTokens};
constexpr int64_t kTimed = 64;  // the last tokens up to a length, whose mean is the cache's speed

constexpr int64_t kMemory = 512;
constexpr std::array<int64_t, 4> kRemembered{512, 1024, 2048, 4096};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double mib(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0;
  size_t resident = 0;
  file >> all >> resident;
  check(file.good(), "[bench] cannot read /proc/self/statm");
  return mib(resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

struct MusicModel {
  std::shared_ptr<const Tokenizer> tokenizer = music_tokenizer(MusicForm::performance);
  ParameterStore store;
  MusicTransformer model;

  MusicModel(DType dtype, int64_t memory)
      : model(store.root(), {.vocabulary = tokenizer->size(),
                             .width = 512,
                             .heads = 8,
                             .layers = 6,
                             .hidden = 2048,
                             .relative_distance = 512,
                             .memory = memory}) {
    store.allocate(dtype, kBenchSeed, ParameterStore::Use::batch_invariant);
  }
};

// A piece that goes on and on; END is a token as any other.
class Improvisation {
 public:
  explicit Improvisation(const MusicModel& music)
      : model_(music.model), tokens_{music.tokenizer->special().start} {}

  void next() {
    const std::vector<int32_t> last{tokens_.back()};
    const std::vector<float> logits =
        model_.step(Tensor::from_ints(last, {1, 1}), state_).to_vector();
    const RandomStream random{kBenchSeed, 0};
    tokens_.push_back(draw(candidates(logits, {}, {}), random.uniform(tokens_.size())));
  }
  const std::vector<int32_t>& tokens() const { return tokens_; }  // START, and what was drawn
  double cache_mib() const {
    size_t bytes = 0;
    for (const std::unique_ptr<MixerCache>& cache : state_.caches) {
      bytes += cache->bytes();
    }
    return mib(bytes);
  }

 private:
  const MusicTransformer& model_;
  CausalState state_;
  std::vector<int32_t> tokens_;
};

// What a token costs when so many came before it, START included.
struct AtLength {
  int64_t length = 0;
  double cached = 0.0;      // seconds
  double recomputed = 0.0;  // seconds
  double cache_mib = 0.0;
};

double recomputed_seconds(const MusicModel& music, std::span<const int32_t> tokens,
                          int repetitions) {
  const std::vector<int32_t> shown(tokens.begin(), tokens.end());
  const Tensor input = Tensor::from_ints(shown, {1, std::ssize(shown)});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {  // the first warms up
    const double start = now();
    music.model.logits(input);
    best = i == 0 ? best : std::min(best, now() - start);
  }
  return best;
}

struct Minute {
  std::vector<AtLength> lengths;
  double cached = 0.0;      // seconds for all of it
  double recomputed = 0.0;  // the same, along straight lines between the lengths
};

Minute measure_minute(const MusicBench& bench) {
  const MusicModel music(bench.dtype, 0);
  Improvisation piece(music);
  Minute minute;
  std::vector<double> moments{now()};
  const double begin = moments.front();
  for (const int64_t length : kLengths) {
    while (std::ssize(moments) <= length) {
      piece.next();
      moments.push_back(now());
    }
    const double timed = moments.back() - moments[static_cast<size_t>(length - kTimed)];
    minute.lengths.push_back(
        {.length = length, .cached = timed / kTimed, .cache_mib = piece.cache_mib()});
  }
  minute.cached = moments.back() - begin;
  AtLength before;
  for (AtLength& at : minute.lengths) {
    at.recomputed = recomputed_seconds(
        music, std::span(piece.tokens()).first(static_cast<size_t>(at.length)), bench.repetitions);
    minute.recomputed +=
        static_cast<double>(at.length - before.length) * (at.recomputed + before.recomputed) / 2;
    before = at;
  }
  return minute;
}

void print_minute(const MusicBench& bench, bool json) {
  const Minute minute = measure_minute(bench);
  if (json) {
    for (const AtLength& at : minute.lengths) {
      const nlohmann::json row{{"case", "music-decode"},
                               {"dtype", name_of(bench.dtype)},
                               {"length", at.length},
                               {"cached_tokens_per_second", 1.0 / at.cached},
                               {"recomputed_tokens_per_second", 1.0 / at.recomputed},
                               {"cache_mib", at.cache_mib}};
      fmt::print("{}\n", row.dump());
    }
    const nlohmann::json row{
        {"case", "music-decode"},          {"dtype", name_of(bench.dtype)},
        {"music_seconds", kMusicSeconds},  {"tokens", kMusicTokens},
        {"cached_seconds", minute.cached}, {"recomputed_seconds", minute.recomputed}};
    fmt::print("{}\n", row.dump());
    return;
  }
  fmt::print("{:>8} {:>16} {:>20} {:>8} {:>12}\n", "length", "cached, tokens/s",
             "recomputed, tokens/s", "ratio", "cache, MiB");
  for (const AtLength& at : minute.lengths) {
    fmt::print("{:>8} {:>16.1f} {:>20.2f} {:>7.1f}x {:>12.1f}\n", at.length, 1.0 / at.cached,
               1.0 / at.recomputed, at.recomputed / at.cached, at.cache_mib);
  }
  fmt::print(
      "recomputed: from the time of one step at that length, all its tokens computed anew\n"
      "{:.0f} s of piano music, {} tokens ({} a second in ASAP's recordings): {:.1f} s with the "
      "cache, {:.1f} s of music a second;\n"
      "  recomputed {:.0f} s, summed along straight lines between the lengths\n",
      kMusicSeconds, kMusicTokens, kEventsPerSecond, minute.cached, kMusicSeconds / minute.cached,
      minute.recomputed);
}

void print_memory(const MusicBench& bench, bool json) {
  const MusicModel music(bench.dtype, kMemory);
  Improvisation piece(music);
  if (!json) {
    fmt::print("with a memory of {} tokens\n{:>8} {:>16} {:>20}\n", kMemory, "tokens", "cache, MiB",
               "resident, MiB");
  }
  for (const int64_t length : kRemembered) {
    while (std::ssize(piece.tokens()) <= length) {
      piece.next();
    }
    if (json) {
      const nlohmann::json row{{"case", "music-decode"},
                               {"dtype", name_of(bench.dtype)},
                               {"memory", kMemory},
                               {"tokens", length},
                               {"cache_mib", piece.cache_mib()},
                               {"resident_mib", resident_mib()}};
      fmt::print("{}\n", row.dump());
    } else {
      fmt::print("{:>8} {:>16.1f} {:>20.1f}\n", length, piece.cache_mib(), resident_mib());
    }
  }
}

}  // namespace

void bench_music(const MusicBench& bench, bool json) {
  if (!json) {
    fmt::print(
        "music_transformer of 6 layers, 512 wide, 8 heads, relative distances up to 512, {}, {} "
        "threads\n",
        name_of(bench.dtype), num_threads());
  }
  print_memory(bench, json);  // first: what is resident is then its own
  std::fflush(stdout);
  print_minute(bench, json);
  std::fflush(stdout);
}

}  // namespace heed::cli
