// Trainings of text encoders that take a second: texts of a few letters with spaces between.
#pragma once

#include <string>
#include <vector>

#include "support/tiny_training.h"

namespace heed::testing {

// Texts of `least` to `least` + 3 letters out of the first `letters`, as "c a b".
inline std::vector<std::string> letter_texts(uint64_t seed, int count, uint32_t letters,
                                             uint32_t least = 3) {
  const RandomStream random{seed, 7};
  uint64_t drawn = 0;
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (uint32_t left = least + random.bits(drawn++) % 4; left > 0; --left) {
      text += text.empty() ? "" : " ";
      text += static_cast<char>('a' + random.bits(drawn++) % letters);
    }
    texts.push_back(text);
  }
  return texts;
}

// A small BERT of one layer, without what a task needs besides.
inline Json tiny_text_recipe(const std::string& task) {
  Json recipe = Json::parse(R"({
      "data": {"max_length": 20, "batch_tokens": 256},
      "text": {"kind": "wordpiece", "vocabulary": 100},
      "model": {"kind": "bert", "width": 16, "heads": 2, "hidden": 32, "layers": 1, "longest": 24,
                "dropout": 0.0, "attention_dropout": 0.0, "head_dropout": 0.0, "initializer_range": 0.1},
      "train": {"steps": 150, "precision": "f32", "label_smoothing": 0.0, "log_every": 10},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 50},
      "checkpoint": {"every": 0}})");
  recipe["task"] = task;
  return recipe;
}

// Interrupted and resumed, a run ends with the same bits. Dropout, average and accumulation are on.
inline void expect_resumes(Json recipe, const TemporaryFolder& folder) {
  recipe["model"]["dropout"] = 0.1;
  recipe["train"].update(
      {{"steps", 14}, {"accumulate", 2}, {"clip", 1.0}, {"ema", 0.9}, {"log_every", 1}});
  recipe["validation"]["every"] = 5;
  recipe["checkpoint"] = {{"every", 4}, {"keep", 3}};
  train(recipe, folder / "whole");
  bool resume = false;
  for (const int64_t stop : {3, 8, 9}) {
    Watcher watcher(stop);
    EXPECT_EQ(train(recipe, folder / "parts", watcher, resume).end, TrainEnd::interrupted);
    resume = true;
  }
  Watcher watcher;
  EXPECT_EQ(train(recipe, folder / "parts", watcher, true).end, TrainEnd::finished);
  EXPECT_EQ(watcher.run.resumed_from, 9);
  const auto whole = tensor_files(folder / "whole");
  const auto parts = tensor_files(folder / "parts");
  for (const char* name : {"model.safetensors", "checkpoint-14/model.safetensors",
                           "checkpoint-14/optimizer.safetensors"}) {
    EXPECT_TRUE(whole.at(name) == parts.at(name)) << name << " differs";
  }
}

}  // namespace heed::testing
