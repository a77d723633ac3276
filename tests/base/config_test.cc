// Configuration structs from JSON and back: types, ranges, names, and what errors say.
#include "base/config.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed::testing {
namespace {

struct Inner {
  int64_t warmup = 4000;
  std::string kind = "linear";

  template <typename Visitor>
  void fields(Visitor& v) {
    v("warmup", warmup, "steps of warming up", {.least = 1, .most = 1e6});
    v("kind", kind, "how it falls", {.choices = {"linear", "cosine"}});
  }
};

struct Outer {
  bool flag = true;
  int32_t small = -7;
  int64_t large = 5;
  uint64_t seed = 1;
  float rate = 0.1F;
  double exact = 0.1;
  std::string name = "heed";
  std::vector<std::string> words = {"a", "b"};
  std::vector<int64_t> numbers = {3, 4};
  Inner schedule;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("flag", flag, "yes or no");
    v("small", small, "32 bits");
    v("large", large, "64 bits", {.least = 0});
    v("seed", seed, "64 bits without sign");
    v("rate", rate, "a float", {.least = 0, .most = 1});
    v("exact", exact, "a double");
    v("name", name, "any text");
    v("words", words, "texts");
    v("numbers", numbers, "whole numbers", {.least = 0, .most = 9});
    v("schedule", schedule, "of the rate");
  }
};

Outer read(const Json& json) {
  Outer outer;
  config::read(outer, json, "recipe.toml");
  return outer;
}

std::string error_in(const Json& json) {
  return error_of([&] { read(json); });
}

TEST(Config, ReadsEveryTypeAndKeepsTheRest) {
  const Outer read_back = read(Json::parse(R"({"flag": false, "small": -2147483648, "large": 7,
      "rate": 0.25, "exact": 3, "name": "x y", "words": ["one"], "numbers": [],
      "schedule": {"warmup": 16}})"));
  EXPECT_FALSE(read_back.flag);
  EXPECT_EQ(read_back.small, std::numeric_limits<int32_t>::min());
  EXPECT_EQ(read_back.large, 7);
  EXPECT_EQ(read_back.seed, 1U);
  EXPECT_EQ(read_back.rate, 0.25F);
  EXPECT_EQ(read_back.exact, 3.0);
  EXPECT_EQ(read_back.name, "x y");
  EXPECT_EQ(read_back.words, std::vector<std::string>{"one"});
  EXPECT_TRUE(read_back.numbers.empty());
  EXPECT_EQ(read_back.schedule.warmup, 16);
  EXPECT_EQ(read_back.schedule.kind, "linear");
}

TEST(Config, WritesInTheOrderOfTheFields) {
  EXPECT_EQ(config::write(Outer{}).dump(),
            R"({"flag":true,"small":-7,"large":5,"seed":1,"rate":0.1,"exact":0.1,"name":"heed",)"
            R"("words":["a","b"],"numbers":[3,4],"schedule":{"warmup":4000,"kind":"linear"}})");
}

TEST(Config, EqualComparesAllFields) {
  Outer changed;
  EXPECT_TRUE(config::equal(Outer{}, changed));
  changed.schedule.warmup = 4001;
  EXPECT_FALSE(config::equal(Outer{}, changed));
}

TEST(Config, NumbersRoundTrip) {
  for (const float rate : {0.1F, 1.0F / 3, 1e-9F, 0x1p-149F, 0.99999994F, 0.0F, 1.0F}) {
    Outer outer;
    outer.rate = rate;
    EXPECT_EQ(read(Json::parse(config::write(outer).dump())).rate, rate);
  }
  for (const double exact : {0.1, 1.0 / 3, 1e300, 0x1p-1074, -2.5}) {
    Outer outer;
    outer.exact = exact;
    EXPECT_EQ(read(Json::parse(config::write(outer).dump())).exact, exact);
  }
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
    Outer outer;
    outer.seed = seed;
    EXPECT_EQ(read(Json::parse(config::write(outer).dump())).seed, seed);
  }
  Outer outer;
  outer.large = INT64_MAX;
  EXPECT_EQ(read(Json::parse(config::write(outer).dump())).large, INT64_MAX);
}

TEST(Config, WholeFloatsAreWholeNumbers) {
  EXPECT_EQ(read({{"large", 1e6}}).large, 1'000'000);
  EXPECT_EQ(error_in({{"large", 1.5}}), "[recipe.toml] large is 1.5, expected a whole number");
  EXPECT_EQ(error_in({{"large", 1e300}}), "[recipe.toml] large is 1e+300, expected a whole number");
}

TEST(Config, NumbersThatDoNotFit) {
  EXPECT_EQ(error_in({{"small", 2147483648}}),
            "[recipe.toml] small is 2147483648, which is out of range");
  EXPECT_EQ(error_in({{"small", -2147483649}}),
            "[recipe.toml] small is -2147483649, which is out of range");
  EXPECT_EQ(error_in({{"seed", -1}}), "[recipe.toml] seed is -1, which is out of range");
  EXPECT_EQ(error_in({{"seed", -1.0}}), "[recipe.toml] seed is -1.0, which is out of range");
  EXPECT_EQ(error_in({{"large", UINT64_MAX}}),
            "[recipe.toml] large is 18446744073709551615, which is out of range");
}

// What a float cannot hold could not be written back as JSON.
TEST(Config, FloatsAreFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_in({{"rate", 1e300}}), "[recipe.toml] rate is 1e+300, which is out of range");
  EXPECT_EQ(error_in({{"exact", infinity}}), "[recipe.toml] exact is inf, which is out of range");
  EXPECT_EQ(error_in({{"exact", std::nan("")}}),
            "[recipe.toml] exact is nan, which is out of range");
}

TEST(Config, WrongTypes) {
  EXPECT_EQ(error_in({{"flag", 1}}), "[recipe.toml] flag is 1, expected true or false");
  EXPECT_EQ(error_in({{"small", true}}), "[recipe.toml] small is true, expected a whole number");
  EXPECT_EQ(error_in({{"rate", "0.1"}}), "[recipe.toml] rate is \"0.1\", expected a number");
  EXPECT_EQ(error_in({{"name", nullptr}}), "[recipe.toml] name is null, expected a text in quotes");
  EXPECT_EQ(error_in({{"words", {{"a", 1}}}}), "[recipe.toml] words is a table, expected a list");
  EXPECT_EQ(error_in({{"words", 3}}), "[recipe.toml] words is 3, expected a text in quotes");
  EXPECT_EQ(error_in({{"words", {"a", 5}}}), "[recipe.toml] words is 5, expected a text in quotes");
  EXPECT_EQ(error_in({{"schedule", 3}}), "[recipe.toml] schedule is 3, expected a table");
  EXPECT_EQ(error_in(Json::array()), "[recipe.toml] the whole is a list, expected a table");
}

TEST(Config, RangesAndChoices) {
  EXPECT_EQ(error_in({{"rate", 1.5}}), "[recipe.toml] rate is 1.5, expected at most 1");
  EXPECT_EQ(error_in({{"rate", -0.5}}), "[recipe.toml] rate is -0.5, expected at least 0");
  EXPECT_EQ(error_in({{"numbers", {1, 10}}}), "[recipe.toml] numbers is 10, expected at most 9");
  EXPECT_EQ(error_in({{"schedule", {{"warmup", 0}}}}),
            "[recipe.toml] schedule.warmup is 0, expected at least 1");
  EXPECT_EQ(error_in({{"schedule", {{"kind", "cosin"}}}}),
            "[recipe.toml] schedule.kind is \"cosin\", expected one of: linear, cosine");
  EXPECT_EQ(read({{"rate", 1}}).rate, 1.0F);
  EXPECT_EQ(read({{"schedule", {{"kind", "cosine"}}}}).schedule.kind, "cosine");
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_in({{"sed", 1}}), "[recipe.toml] there is no key sed; did you mean seed?");
  EXPECT_EQ(error_in({{"schedule", {{"warm_up", 1}}}}),
            "[recipe.toml] there is no key schedule.warm_up; did you mean schedule.warmup?");
}

struct Files {
  std::string folder = "in";
  std::vector<std::string> texts = {"a", "b"};
  std::string metric = "bleu";
  std::vector<std::string> names = {"x"};

  template <typename Visitor>
  void fields(Visitor& v) {
    v("folder", folder, "where all is", {.path = true});
    v("texts", texts, "what is read", {.path = true});
    v("metric", metric, "what is measured", {.renamed_from = "measure"});
    v("names", names, "of columns");
  }
};

struct HasFiles {
  Files files;
  std::string log = "out";

  template <typename Visitor>
  void fields(Visitor& v) {
    v("files", files, "of the data");
    v("log", log, "where progress goes", {.path = true, .renamed_from = "progress"});
  }
};

TEST(Config, DescribeSaysWhichFieldsArePaths) {
  std::vector<config::FieldHelp> fields;
  config::describe(HasFiles{}, fields);
  std::vector<std::string> paths;
  for (const config::FieldHelp& field : fields) {
    if (field.range.path) {
      paths.push_back(field.name);
    }
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"files.folder", "files.texts", "log"}));
}

TEST(Config, RenamedKeysNameTheirNewName) {
  HasFiles config;
  EXPECT_EQ(error_of([&] {
              config::read(config, {{"progress", "x"}}, "recipe.toml");
            }),
            "[recipe.toml] there is no key progress; it is now called log");
  EXPECT_EQ(error_of([&] {
              config::read(config, {{"files", {{"measure", "x"}}}}, "recipe.toml");
            }),
            "[recipe.toml] there is no key files.measure; it is now called files.metric");
}

// Values of strangers appear in errors, but only as much of them as one wants to read.
TEST(Config, ErrorsStayShort) {
  EXPECT_EQ(error_in({{"small", {1, 2}}}),
            "[recipe.toml] small is a list, expected a whole number");
  EXPECT_EQ(error_in({{"name", {{"a", 1}}}}),
            "[recipe.toml] name is a table, expected a text in quotes");
  EXPECT_EQ(error_in({{"small", std::string(100'000, 'x')}}),
            "[recipe.toml] small is \"" + std::string(59, 'x') + "..., expected a whole number");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) {
    umlauts += "ü";
  }
  // A quote and 29 characters of two bytes: the 60th byte would cut the next one in two.
  EXPECT_EQ(error_in({{"small", umlauts}}),
            "[recipe.toml] small is \"" + umlauts.substr(0, 58) + "..., expected a whole number");
  EXPECT_EQ(error_in({{"small", "\xFF"}}),
            "[recipe.toml] small is \"\xEF\xBF\xBD\", expected a whole number");
}

TEST(Config, DeeplyNestedValues) {
  constexpr size_t kDepth = 1'000'000;
  Json json = Json::object();
  json["small"] = Json::parse(std::string(kDepth, '[') + std::string(kDepth, ']'));
  EXPECT_EQ(error_in(json), "[recipe.toml] small is a list, expected a whole number");
}

TEST(Config, Describes) {
  std::vector<config::FieldHelp> fields;
  config::describe(Outer{}, fields);
  ASSERT_EQ(fields.size(), 11U);
  EXPECT_EQ(fields[4].name, "rate");
  EXPECT_EQ(fields[4].initial, "0.1");
  EXPECT_EQ(fields[4].help, "a float");
  EXPECT_EQ(fields[4].range.most, 1.0);
  EXPECT_EQ(fields[9].name, "schedule.warmup");
  EXPECT_EQ(fields[9].initial, "4000");
  EXPECT_EQ(fields[10].name, "schedule.kind");
  EXPECT_EQ(fields[10].range.choices, (std::vector<std::string>{"linear", "cosine"}));
}

}  // namespace
}  // namespace heed::testing
