// Algorithmic tasks (Kaiser and Sutskever 2016; Dehghani et al. 2018): strings of digits and what
// an algorithm makes of them. They are generated from a seed, so there are no files, and a model
// that found the algorithm is right on strings of any length.
//
//   copy      31415  ->  31415
//   reverse   31415  ->  51413
//   addition  21+43  ->  640     12 + 34 = 046: numbers are written with their last digit first,
//                                both with the same number of digits, their sum with one more
//
// Every example is a pure function of (seed, name, number). All functions may be called from any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/batches.h"
#include "text/tokenizer.h"

namespace heed {

enum class Algorithm { copy, reverse, addition };
const std::vector<std::string>& algorithm_names();
Algorithm algorithm_of(std::string_view name);

// The fewest symbols that a source can have.
int64_t least_symbols(Algorithm algorithm);

struct AlgorithmExample {
  std::string source;
  std::string target;
};

// How long the sources are that are drawn, in symbols.
struct AlgorithmLengths {
  int64_t least = 1;
  int64_t most = 40;
};

// Many examples of one kind, each known by its number.
struct AlgorithmExamples {
  Algorithm algorithm = Algorithm::copy;
  AlgorithmLengths lengths = {};
  uint64_t seed = 1;
  std::string name = "train";  // examples of another name are others

  // A source of `least` to `most` symbols, all lengths equally likely. The numbers of a sum have as
  // many digits as fit; one of them may be smaller, with zeros in front of it, which come last.
  AlgorithmExample operator()(int64_t number) const;
};

// A token for each digit and for "+".
std::shared_ptr<const Tokenizer> algorithm_tokenizer();

// Batches for training, epoch after epoch, each of new examples. What an epoch holds and in which
// order is a pure function of (seed, epoch), as in data/batches.h.
class AlgorithmEpochs {
 public:
  struct Options {
    AlgorithmExamples examples = {};
    int64_t size = 20000;  // examples of an epoch
    int64_t batch_tokens = 4096;
  };
  explicit AlgorithmEpochs(Options options) : options_(std::move(options)) {}

  // The batch at the state; advances the state.
  HostBatch next(DataState& state);

 private:
  void plan(int64_t epoch);

  Options options_;
  std::shared_ptr<const Tokenizer> tokenizer_ = algorithm_tokenizer();
  int64_t epoch_ = -1;
  std::vector<HostBatch> batches_;  // of this epoch
};

}  // namespace heed
