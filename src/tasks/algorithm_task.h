// Learning an algorithm from examples: a sequence-to-sequence model is shown short strings of
// digits and what becomes of them (data/algorithms.h), and is tested on longer ones.
//
// Validation and test decode greedily. Character accuracy is the share of the targets' characters
// that stand at their place in what was said, over all examples together, END not counted; sequence
// accuracy is the share of examples of which everything is right, the end included
// (train/metrics/sequence_accuracy.h). Forced accuracy is the share of characters that the model
// would say if all characters before them were the right ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/algorithms.h"
#include "tasks/setup/data_config.h"
#include "train/loss.h"
#include "train/metrics/sequence_accuracy.h"
#include "train/task.h"

namespace heed {

struct AlgorithmDataConfig : BatchConfig {
  std::string algorithm = "copy";
  int64_t longest = 40;
  int64_t examples = 20000;
  int64_t valid_examples = 200;
  int64_t test_examples = 100;
  std::vector<int64_t> test_lengths = {40, 400};

  template <typename Visitor>
  void fields(Visitor& v) {
    v("algorithm", algorithm, "what becomes of a string of digits", {.choices = algorithm_names()});
    v("longest", longest, "longest source to learn from, in symbols; all lengths up to it come",
      {.least = 1, .most = 100000});
    v("examples", examples, "examples of an epoch; each epoch has new ones",
      {.least = 1, .most = 1e8});
    v("valid_examples", valid_examples, "examples for validation, as long as those of training",
      {.least = 0, .most = 1e6});
    v("test_examples", test_examples, "examples of each length for the final test; 0: no test",
      {.least = 0, .most = 1e6});
    v("test_lengths", test_lengths, "lengths of the sources of the final test, in symbols",
      {.least = 1, .most = 100000});
    BatchConfig::fields(v);
  }
};

struct AlgorithmConfig {
  AlgorithmDataConfig data;
  SequenceLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is generated");
    v("train", train, "the loss");
  }
};

// How a model does on some examples.
struct AlgorithmScore {
  SequenceAccuracy greedy = {};
  double forced = 0.0;
  std::vector<std::string> said = {};
};
AlgorithmScore score_algorithm(const Seq2SeqModel& model,
                               const std::vector<AlgorithmExample>& examples, int64_t batch_tokens);

class AlgorithmTask : public TaskWith<AlgorithmConfig> {
 public:
  AlgorithmTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  // The lengths of new examples differ, and so does the number of batches.
  std::optional<int64_t> epoch_batches() const override { return std::nullopt; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct PairBatch : TaskBatch {
    HostBatch host;
  };

  AlgorithmExamples examples(const std::string& name, const AlgorithmLengths& lengths) const;

  Seq2SeqModel* model_ = nullptr;  // any_
  std::optional<AlgorithmEpochs> epochs_;
  std::vector<AlgorithmExample> held_out_;
  std::vector<HostBatch> held_out_batches_;
  DataState state_;
};

}  // namespace heed
