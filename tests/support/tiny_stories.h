// Stories of people who walk between places, as the first bAbI task tells them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "base/random.h"
#include "support/tiny_training.h"

namespace heed::testing {

inline constexpr std::array<const char*, 3> kPeople = {"Mary", "John", "Fred"};
inline constexpr std::array<const char*, 4> kPlaces = {"garden", "kitchen", "hallway", "office"};

// Numbered lines: in each of the stories two people walk, then a question, twice.
inline std::string walking_stories(uint64_t seed, int stories) {
  const RandomStream random{seed, 11};
  uint64_t drawn = 0;
  std::string text;
  for (int i = 0; i < stories; ++i) {
    std::map<std::string, std::pair<std::string, int>> at;  // place and line
    int line = 0;
    for (int question = 0; question < 2; ++question) {
      std::string last;
      for (int walk = 0; walk < 2; ++walk) {
        last = kPeople[random.bits(drawn++) % kPeople.size()];
        const std::string place = kPlaces[random.bits(drawn++) % kPlaces.size()];
        text += fmt::format("{} {} went to the {}.\n", ++line, last, place);
        at[last] = {place, line};
      }
      auto asked = at.begin();
      std::advance(asked, random.bits(drawn++) % at.size());
      text += fmt::format("{} Where is {}? \t{}\t{}\n", ++line, asked->first, asked->second.first,
                          asked->second.second);
    }
  }
  return text;
}

inline Json story_recipe(const TemporaryFolder& folder, const std::string& kind) {
  Json recipe = Json::parse(R"({
      "task": "questions",
      "data": {"batch_tokens": 256, "empty_facts": 0.0},
      "model": {"width": 24, "memory": 10, "sentence": 8},
      "train": {"steps": 150, "precision": "f32", "log_every": 10},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 50},
      "checkpoint": {"every": 0}})");
  recipe["model"]["kind"] = kind;
  if (kind == "story_transformer") {
    recipe["model"].update({{"heads", 2}, {"hidden", 48}, {"layers", 2}, {"dropout", 0.0}});
  }
  recipe["data"]["stories"] = {
      folder.write("qa1_walks_train.txt", walking_stories(1, 400)).string()};
  recipe["data"]["valid_stories"] = {
      folder.write("qa1_walks_valid.txt", walking_stories(2, 50)).string()};
  recipe["data"]["test_stories"] = {
      folder.write("qa1_walks_test.txt", walking_stories(3, 40)).string()};
  return recipe;
}

}  // namespace heed::testing
