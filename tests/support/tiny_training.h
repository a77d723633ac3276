// A training that takes a fraction of a second: short words of eight letters, to be reversed.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/text_files.h"
#include "tasks/tasks.h"
#include "train/trainer.h"

namespace heed::testing {

// Words of three to seven letters, or the same reversed, one a line.
inline std::string letter_words(uint64_t seed, int count, bool reversed) {
  const RandomStream random{seed, 0};
  uint64_t drawn = 0;
  std::string text;
  for (int i = 0; i < count; ++i) {
    std::string word;
    for (uint32_t left = 3 + random.bits(drawn++) % 5; left > 0; --left) {
      word += static_cast<char>('a' + random.bits(drawn++) % 8);
    }
    text += (reversed ? std::string(word.rbegin(), word.rend()) : word) + "\n";
  }
  return text;
}

// Has everything on that a resumed run has to bring back: dropout, average, accumulation, clipping,
// validation.
inline Json tiny_recipe(const TemporaryFolder& folder) {
  const auto write = [&](const char* name, uint64_t seed, int count, bool reversed) {
    return folder.write(name, letter_words(seed, count, reversed)).string();
  };
  Json recipe = Json::parse(R"({
      "data": {"max_length": 15, "batch_tokens": 128},
      "text": {"kind": "char"},
      "model": {"width": 16, "heads": 2, "hidden": 32, "encoder_layers": 1, "decoder_layers": 1,
                "dropout": 0.1, "attention_dropout": 0.1, "hidden_dropout": 0.1},
      "train": {"steps": 24, "precision": "f32", "accumulate": 2, "clip": 1.0, "ema": 0.9,
                "log_every": 1},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 5, "best_by": "loss"},
      "checkpoint": {"every": 4, "keep": 3}})");
  recipe["data"]["source"] = Json::array({write("train.src", 1, 200, false)});
  recipe["data"]["target"] = Json::array({write("train.tgt", 1, 200, true)});
  recipe["data"]["valid_source"] = write("valid.src", 2, 20, false);
  recipe["data"]["valid_target"] = write("valid.tgt", 2, 20, true);
  return recipe;
}

inline void without_validation(Json& recipe) {
  recipe["data"].erase("valid_source");
  recipe["data"].erase("valid_target");
}

// Keeps what it is told, and asks the training to stop at a step.
class Watcher : public TrainObserver {
 public:
  explicit Watcher(int64_t stop_at = -1) : stop_at_(stop_at) { stop = stop_at == 0; }

  void started(const RunReport& report) override { run = report; }
  void stepped(const StepReport& report) override {
    steps.push_back(report);
    stop = stop || report.step == stop_at_;
  }
  void validated(const ValidationReport& report) override { validations.push_back(report); }

  std::atomic<bool> stop{false};
  RunReport run;
  std::vector<StepReport> steps;
  std::vector<ValidationReport> validations;

 private:
  int64_t stop_at_;
};

struct Ended {
  TrainEnd end = TrainEnd::finished;
  TrainState state;
};

inline Ended train(const Json& recipe, const std::filesystem::path& run, Watcher& watcher,
                   bool resume = false) {
  Trainer trainer(prepare_run(parse_recipe(recipe, "test"), run,
                              resume ? RunStart::resume : RunStart::anew, watcher),
                  watcher);
  const TrainEnd end = trainer.run(watcher.stop);
  return {end, trainer.state()};
}

inline Ended train(const Json& recipe, const std::filesystem::path& run, bool resume = false) {
  Watcher watcher;
  return train(recipe, run, watcher, resume);
}

// Every tensor file of a run, by its path in the folder.
inline std::map<std::string, std::string> tensor_files(const std::filesystem::path& run) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
    if (entry.path().extension() == ".safetensors") {
      files[std::filesystem::relative(entry.path(), run).string()] = read_file(entry.path());
    }
  }
  return files;
}

inline std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) {
    names.push_back(file.first);
  }
  return names;
}

inline std::vector<std::string> checkpoint_names(const std::filesystem::path& run) {
  std::vector<std::string> names;
  for (const std::filesystem::path& path : list_checkpoints(run)) {
    names.push_back(path.filename().string());
  }
  return names;
}

// The same tensor files with the same bytes.
inline void expect_same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto files = tensor_files(a);
  const auto others = tensor_files(b);
  ASSERT_EQ(names_of(files), names_of(others));
  for (const auto& [name, bytes] : files) {
    EXPECT_TRUE(bytes == others.at(name)) << name << " differs";
  }
}

}  // namespace heed::testing
