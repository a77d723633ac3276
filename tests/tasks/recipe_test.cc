#include "train/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "data/catalogue.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/model_kinds.h"
#include "support/text_files.h"
#include "tasks/tasks.h"
#include "tasks/translate_task.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using testing::EnvironmentVariable;
using testing::error_of;
using testing::TemporaryFolder;
using Texts = std::vector<std::string>;

const std::string kSmall =
    "[data]\nsource = [\"/a.en\"]\ntarget = [\"/a.de\"]\n[train]\nsteps = 10\n";

// The error of a recipe, with FILE in place of its path.
std::string error_of_recipe(const std::string& text, const Texts& settings = {}) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", text);
  std::string error = error_of([&] { read_recipe(file, settings); });
  for (size_t at = 0; (at = error.find(file)) != std::string::npos;) {
    error.replace(at, file.size(), "FILE");
  }
  return error;
}

Recipe recipe_of(const std::string& text, const Texts& settings = {}) {
  const TemporaryFolder folder;
  return read_recipe(folder.write("r.toml", text), settings);
}

TranslateConfig own(const Recipe& recipe) { return own_config<TranslateConfig>(recipe); }

TEST(Recipe, EveryRecipeOfTheRepositoryIsValidAndRoundTrips) {
  int seen = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("recipes")) {
    if (entry.path().extension() != ".toml") {
      continue;
    }
    ++seen;
    SCOPED_TRACE(entry.path().string());
    const Json written = write_recipe(read_recipe(entry.path()));
    EXPECT_EQ(write_recipe(parse_recipe(written, "written")), written);
    EXPECT_EQ(Json::parse(written.dump()), written);  // as a file keeps it
  }
  EXPECT_GE(seen, 5);
}

TEST(Recipe, SaysWhatItSaysAndDefaultsTheRest) {
  const Recipe recipe = recipe_of(kSmall +
                                  "seed = 7\nema = 0.5\n[model]\npreset = \"tiny\"\nheads = 2\n"
                                  "[optimizer]\nkind = \"sgd\"\n");
  EXPECT_EQ(recipe.train.steps, 10);
  EXPECT_EQ(recipe.train.seed, 7U);
  EXPECT_EQ(recipe.train.ema, 0.5F);
  EXPECT_EQ(recipe.train.precision, "bf16");
  EXPECT_EQ(recipe.optimizer.kind, "sgd");
  EXPECT_EQ(own(recipe).data.source, Texts{"/a.en"});
  EXPECT_EQ(recipe.model["kind"], "transformer");
  EXPECT_EQ(recipe.model["width"], 128);  // the preset's
  EXPECT_EQ(recipe.model["heads"], 2);    // said anew
}

TEST(Recipe, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of_recipe(kSmall + "step = 3\n"),
            "[FILE] there is no key train.step; did you mean train.steps?");
  EXPECT_EQ(error_of_recipe(kSmall + "[shedule]\nrate = 1\n"),
            "[FILE] there is no key shedule; did you mean schedule?");
  EXPECT_EQ(error_of_recipe(kSmall + "[model]\nwidht = 64\n"),
            "[FILE] there is no key model.widht; did you mean model.width?");
  EXPECT_EQ(error_of_recipe(kSmall, {"optimizer.beta_1=0.5"}),
            "[FILE] there is no key optimizer.beta_1; did you mean optimizer.beta1?");
}

TEST(Recipe, WrongTypesNameKeyAndValue) {
  EXPECT_EQ(error_of_recipe(kSmall, {"train.steps=\"many\""}),
            "[FILE] train.steps is \"many\", expected a whole number");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.steps=1.5"}),
            "[FILE] train.steps is 1.5, expected a whole number");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.clip=true"}),
            "[FILE] train.clip is true, expected a number");
  EXPECT_EQ(error_of_recipe(kSmall, {"text.joint=1"}),
            "[FILE] text.joint is 1, expected true or false");
  EXPECT_EQ(error_of_recipe(kSmall, {"text.kind=3"}),
            "[FILE] text.kind is 3, expected a text in quotes");
  EXPECT_EQ(error_of_recipe(kSmall, {"data.source={file = \"a.en\"}"}),
            "[FILE] data.source is a table, expected a list");
  EXPECT_EQ(error_of_recipe("train = 3\n"), "[FILE] train is 3, expected a table");
  EXPECT_EQ(error_of_recipe(kSmall, {"model=3"}), "[FILE] model is 3, expected a table");
  EXPECT_EQ(error_of_recipe(kSmall, {"model.preset=3"}),
            "[FILE] model.preset is 3, expected a text in quotes");
}

TEST(Recipe, WrongValuesNameKeyAndRange) {
  EXPECT_EQ(error_of_recipe(kSmall, {"train.accumulate=0"}),
            "[FILE] train.accumulate is 0, expected at least 1");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.label_smoothing=1.5"}),
            "[FILE] train.label_smoothing is 1.5, expected at most 0.99");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.seed=-1"}),
            "[FILE] train.seed is -1, which is out of range");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.precision=f16"}),
            "[FILE] train.precision is \"f16\", expected one of: f32, bf16");
  EXPECT_EQ(error_of_recipe(kSmall, {"model.kind=lstm"}),
            "[FILE] model.kind is \"lstm\", expected one of: " + testing::model_kinds());
  EXPECT_EQ(error_of_recipe(kSmall, {"model.preset=huge"}),
            "[FILE] model.preset is \"huge\", expected one of: tiny, small, base, big");
}

// It was only noticed at the first step, after the tokenizers had been made.
TEST(Recipe, NoamNeedsAModelWithAWidth) {
  for (const ModelHelp& model : describe_models()) {
    const bool width = model_spec(resolve_model_config({{"kind", model.kind}}, "test")).width > 0;
    const std::string error = error_of_recipe(kSmall, {"model.kind=" + model.kind});
    EXPECT_EQ(error, width ? "no error"
                           : "[FILE] schedule.kind is noam, which scales the learning rate by the "
                             "model's width, but a " +
                                 model.kind + " has no width: set schedule.kind to another one");
    EXPECT_EQ(error_of_recipe(kSmall, {"model.kind=" + model.kind, "schedule.kind=constant"}),
              "no error");
  }
}

// JSON has no infinity, so a run folder could not keep it.
TEST(Recipe, InfiniteNumbersAreErrors) {
  EXPECT_EQ(error_of_recipe(kSmall, {"train.clip=inf"}),
            "[FILE] train.clip is inf, which is out of range");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.minutes=inf"}),
            "[FILE] train.minutes is inf, which is out of range");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.clip=1e300"}),
            "[FILE] train.clip is 1e+300, which is out of range");
  EXPECT_EQ(error_of_recipe(kSmall, {"schedule.rate=nan"}),
            "[FILE] schedule.rate is nan, which is out of range");
}

TEST(Recipe, ErrorsOfTomlNameTheLine) {
  EXPECT_EQ(error_of_recipe("[train]\nsteps = 10\nclip = = 1\n").rfind("[FILE] line 3, column ", 0),
            0U);
  EXPECT_EQ(error_of_recipe("[train]\nsteps = 10\nsteps = 11\n").rfind("[FILE] line 3, column ", 0),
            0U);
  EXPECT_EQ(error_of_recipe("[train\n").rfind("[FILE] line 1, column ", 0), 0U);
  EXPECT_EQ(error_of_recipe("[train]\n\nsteps = 2017-06-12\n"),
            "[FILE] line 3 holds a date or time, which no key takes");
  EXPECT_NE(error_of([] { read_recipe("no-such.toml"); }).find("no-such.toml"), std::string::npos);
}

TEST(Recipe, SettingsChangeSingleKeys) {
  const Recipe recipe =
      recipe_of(kSmall, {"train.steps=1e3", "train.clip=0.25", "text.kind=char", "text.joint=false",
                         "data.source=['/x', '/y']", "data.target=[\"/z\", \"/w\"]",
                         "model.width=64", "model.heads=4", "validation.best_by=\"loss\"",
                         "text.folder=/a=b", "train.seed=1", "train.seed=2"});
  EXPECT_EQ(recipe.train.steps, 1000);
  EXPECT_EQ(recipe.train.clip, 0.25F);
  EXPECT_EQ(own(recipe).text.kind, "char");
  EXPECT_FALSE(own(recipe).text.joint);
  EXPECT_EQ(own(recipe).data.source, (Texts{"/x", "/y"}));
  EXPECT_EQ(own(recipe).data.target, (Texts{"/z", "/w"}));
  EXPECT_EQ(recipe.model["width"], 64);
  EXPECT_EQ(recipe.validation.best_by, "loss");
  EXPECT_EQ(own(recipe).text.folder, "/a=b");  // only the first = divides
  EXPECT_EQ(recipe.train.seed, 2U);            // the last one counts
  EXPECT_EQ(own(recipe_of(kSmall + "[text]\nfolder = \"/t\"\n", {"text.folder="})).text.folder, "");
}

TEST(Recipe, MalformedSettingsAreErrors) {
  EXPECT_EQ(error_of_recipe(kSmall, {"train.steps"}),
            "[--set] train.steps is not of the form key=value");
  EXPECT_EQ(error_of_recipe(kSmall, {"=3"}), "[--set] =3 is not of the form key=value");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.steps.deep=3"}),
            "[--set] train.steps.deep=3: deep lies inside a value");
  EXPECT_EQ(error_of_recipe(kSmall, {"train..steps=3"}),
            "[FILE] there is no key train.; did you mean train.ema?");
}

TEST(Recipe, ABaseIsTakenOverKeyByKey) {
  const TemporaryFolder folder;
  folder.write("base.toml", kSmall + "clip = 2.0\n[schedule]\nwarmup = 5\n[model]\nwidth = 64\n");
  const fs::path file = folder.write("r.toml", "base = \"base.toml\"\n[train]\nsteps = 20\n");
  const Recipe recipe = read_recipe(file);
  EXPECT_EQ(recipe.train.steps, 20);
  EXPECT_EQ(recipe.train.clip, 2.0F);
  EXPECT_EQ(recipe.schedule.warmup, 5);
  EXPECT_EQ(recipe.model["width"], 64);
  EXPECT_EQ(read_recipe(file, Texts{"train.steps=30"}).train.steps, 30);
}

TEST(Recipe, AModelReplacesTheBasesModelWhole) {
  const TemporaryFolder folder;
  folder.write("base.toml", kSmall + "[model]\nkind = \"transformer\"\npre_norm = true\n");
  const fs::path file =
      folder.write("r.toml",
                   "base = \"base.toml\"\n[model]\nkind = \"rnn\"\npreset = \"small\"\n"
                   "[schedule]\nkind = \"constant\"\n");
  const Recipe recipe = read_recipe(file);
  EXPECT_EQ(recipe.model["kind"], "rnn");
  EXPECT_FALSE(recipe.model.contains("pre_norm"));
  EXPECT_EQ(recipe.train.steps, 10);
  // One without a kind or preset is the base's with changes.
  const Recipe changed =
      read_recipe(folder.write("s.toml", "base = \"base.toml\"\n[model]\nwidth = 128\n"));
  EXPECT_EQ(changed.model["width"], 128);
  EXPECT_EQ(changed.model["pre_norm"], true);
}

TEST(Recipe, BasesInACircleAreAnError) {
  const TemporaryFolder folder;
  folder.write("a.toml", "base = \"b.toml\"\n");
  folder.write("b.toml", "base = \"a.toml\"\n");
  EXPECT_NE(error_of([&] { read_recipe(folder / "a.toml"); }).find("in a circle"),
            std::string::npos);
  folder.write("c.toml", "base = 3\n");
  EXPECT_NE(error_of([&] {
              read_recipe(folder / "c.toml");
            }).find("base is 3, expected the name of a recipe"),
            std::string::npos);
  folder.write("d.toml", "base = \"gone.toml\"\n");
  EXPECT_NE(error_of([&] { read_recipe(folder / "d.toml"); }).find("gone.toml"), std::string::npos);
}

TEST(Recipe, TheDataFolderIsFilledIn) {
  const std::string text =
      "[data]\nsource = [\"${HEED_DATA}/x.en\"]\ntarget = [\"${HEED_DATA}/x.de\"]\n"
      "valid_source = \"${HEED_DATA}/v.en\"\nvalid_target = \"${HEED_DATA}/v.de\"\n"
      "[train]\nsteps = 1\n[text]\nfolder = \"${HEED_DATA}/t\"\n";
  {
    const EnvironmentVariable variable("HEED_DATA", "/big/disk");
    const Recipe recipe = recipe_of(text);
    EXPECT_EQ(own(recipe).data.source, Texts{"/big/disk/x.en"});
    EXPECT_EQ(own(recipe).data.target, Texts{"/big/disk/x.de"});
    EXPECT_EQ(own(recipe).data.valid_source, "/big/disk/v.en");
    EXPECT_EQ(own(recipe).text.folder, "/big/disk/t");
  }
  const EnvironmentVariable variable("HEED_DATA", nullptr);
  EXPECT_EQ(own(recipe_of(text)).data.source, Texts{(data_folder() / "x.en").string()});
}

TEST(Recipe, FilesAreRelativeToIt) {
  const TemporaryFolder folder;
  const fs::path file = folder.write(
      "r.toml", "[data]\ntsv = [\"pairs.tsv\", \"-\", \"/abs.tsv\"]\n[train]\nsteps = 1\n");
  const Texts wanted{(folder / "pairs.tsv").string(), "-", "/abs.tsv"};
  EXPECT_EQ(own(read_recipe(file)).data.tsv, wanted);
}

// The current folder has a file of the same name: recipes mean their own, settings the current one.
TEST(Recipe, FilesBesideItComeBeforeThoseOfTheCurrentFolder) {
  const std::string name = "CONTRIBUTING.md";
  ASSERT_TRUE(fs::exists(name));
  const TemporaryFolder folder;
  const fs::path file =
      folder.write("r.toml", "[data]\ntsv = [\"" + name + "\"]\n[train]\nsteps = 1\n");
  EXPECT_EQ(own(read_recipe(file)).data.tsv, Texts{name});
  folder.write(name, "a\tb\n");
  EXPECT_EQ(own(read_recipe(file)).data.tsv, Texts{(folder / name).string()});
  EXPECT_EQ(own(read_recipe(file, Texts{"data.tsv=['" + name + "']"})).data.tsv, Texts{name});
}

// Also where the base lies in another folder.
TEST(Recipe, PathsOfABaseAreRelativeToTheFileTheyStandIn) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "bases");
  folder.write("bases/base.toml",
               "[data]\ntsv = [\"pairs.tsv\"]\nvalid_source = \"v.en\"\nvalid_target = "
               "\"v.de\"\n[train]\nsteps = 1\n");
  const fs::path file =
      folder.write("r.toml", "base = \"bases/base.toml\"\n[data]\nvalid_source = \"mine.en\"\n");
  const TranslateConfig config = own(read_recipe(file, Texts{"text.folder=set"}));
  EXPECT_EQ(config.data.tsv, Texts{(folder / "bases/pairs.tsv").string()});
  EXPECT_EQ(config.data.valid_target, (folder / "bases/v.de").string());
  EXPECT_EQ(config.data.valid_source, (folder / "mine.en").string());
  EXPECT_EQ(config.text.folder, (folder / "set").string());
}

TEST(Recipe, AMissingFileIsNamedWithItsKey) {
  const TemporaryFolder folder;
  folder.write("there.tsv", "a\tb\n");
  const fs::path file =
      folder.write("r.toml", "[data]\ntsv = [\"there.tsv\", \"gone.tsv\"]\n[train]\nsteps = 1\n");
  EXPECT_EQ(error_of([&] { check_files(read_recipe(file), "r"); }),
            "[r] data.tsv names " + (folder / "gone.tsv").string() + ", which does not exist");
  const Recipe there = read_recipe(file, Texts{"data.tsv=['there.tsv']"});
  EXPECT_EQ(error_of([&] { check_files(there, "r"); }), "no error");
}

TEST(Recipe, AMissingDataSetSaysWhereToGetIt) {
  const EnvironmentVariable variable("HEED_DATA", "/nowhere");
  const std::string file = "recipes/translation/multi30k.toml";
  EXPECT_EQ(error_of([&] { check_files(read_recipe(file), file); }),
            "[" + file +
                "] data.source names /nowhere/multi30k/train.en.gz, which does not exist; `heed "
                "data get multi30k` fetches it into HEED_DATA, which is /nowhere; or set HEED_DATA "
                "to the folder that holds multi30k");
}

// A recipe may be the base of recipes of several tasks.
TEST(Recipe, AKeyOfOtherTasksIsNotUsedAndSaysWhose) {
  const Json given = Json::parse(R"({"task": "language",
      "data": {"text": ["/t"], "chorales": "x.json", "pool": 3},
      "train": {"steps": 1, "agreement": 1.0}, "image": {"rows": 3}})");
  const Recipe recipe = parse_recipe(given, "r");
  ASSERT_EQ(recipe.unused.size(), 4U);
  const auto expect_said = [&](size_t line, const std::string& key, const std::string& task) {
    const std::string start = "[r] the task language does not use " + key + "; these do: ";
    EXPECT_EQ(recipe.unused[line].substr(0, start.size()), start);
    EXPECT_NE(recipe.unused[line].find(task, start.size()), std::string::npos);
  };
  expect_said(0, "data.chorales", "music, accompany");
  expect_said(1, "data.pool", "translate");
  expect_said(2, "train.agreement", "translate, accompany");
  expect_said(3, "image", "image");
  EXPECT_FALSE(write_recipe(recipe)["data"].contains("pool"));
  EXPECT_TRUE(recipe_of(kSmall).unused.empty());
}

TEST(Recipe, KeysThatBelongToTheTaskOfABaseAreIgnored) {
  const TemporaryFolder folder;
  folder.write("base.toml", kSmall + "agreement = 1.0\n[text]\nkind = \"char\"\n");
  const fs::path file = folder.write(
      "r.toml", "base = \"base.toml\"\ntask = \"language\"\n[data]\ntext = [\"/t\"]\n");
  const Recipe recipe = read_recipe(file);
  EXPECT_TRUE(recipe.unused.empty());
  EXPECT_EQ(write_recipe(recipe)["text"]["kind"], "char");
  EXPECT_EQ(read_recipe(file, Texts{"data.pool=3"}).unused.size(), 1U);
}

TEST(Recipe, ATaskThatDoesNotExistIsAnError) {
  std::string names;
  for (const TaskKind& task : tasks()) {
    names += (names.empty() ? "" : ", ") + task.name;
  }
  EXPECT_EQ(error_of_recipe(kSmall, {"task=sing"}),
            "[FILE] task is \"sing\", expected one of: " + names);
  EXPECT_EQ(error_of_recipe(kSmall, {"task=3"}), "[FILE] task is 3, expected a text in quotes");
}

TEST(Recipe, EveryTaskListsItsKeysAndHasADefaultModel) {
  for (const TaskKind& task : tasks()) {
    SCOPED_TRACE(task.name);
    EXPECT_EQ(resolve_model_config({{"kind", task.model}}, "test")["kind"], task.model);
    const Json defaults = task.resolve(Json::object(), "test");
    EXPECT_EQ(task.resolve(defaults, "test"), defaults);
    for (const config::FieldHelp& field : task.fields()) {
      EXPECT_FALSE(field.help.empty()) << field.name;
    }
    EXPECT_TRUE(defaults["data"].contains("batch_tokens"));
  }
}

TEST(Recipe, KeysAreExplainedWithoutReadingTheOthers) {
  std::vector<config::FieldHelp> keys;
  config::describe(Recipe{}, keys);
  for (const TaskKind& task : tasks()) {
    std::ranges::copy(task.fields(), std::back_inserter(keys));
  }
  for (const ModelHelp& model : describe_models()) {
    std::ranges::copy(model.fields, std::back_inserter(keys));
  }
  for (const config::FieldHelp& key : keys) {
    for (const char* beginning : {"of ", "that ", "and ", "its ", "their ", "says ", "as "}) {
      EXPECT_FALSE(key.help.starts_with(beginning)) << key.name << ": " << key.help;
    }
    EXPECT_EQ(key.help.find("so many"), std::string::npos) << key.name << ": " << key.help;
  }
}

TEST(Recipe, WhatDoesNotFitTogetherIsAnError) {
  EXPECT_EQ(error_of_recipe(kSmall, {"train.steps=0"}),
            "[FILE] nothing ends the training: set train.steps, train.epochs or train.minutes");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.steps=0", "train.minutes=0.5"}), "no error");
  EXPECT_EQ(error_of_recipe(kSmall, {"data.builtin=demo"}),
            "[FILE] data needs exactly one of: source and target, tsv, or builtin = \"demo\"");
  EXPECT_EQ(error_of_recipe("[train]\nsteps = 1\n"),
            "[FILE] data needs exactly one of: source and target, tsv, or builtin = \"demo\"");
  EXPECT_EQ(error_of_recipe(kSmall, {"data.target=['/a', '/b']"}),
            "[FILE] data.source has 1 files and data.target 2, expected as many");
  EXPECT_EQ(error_of_recipe(kSmall, {"data.valid_source=/v"}),
            "[FILE] valid_source and valid_target belong together, and so do the test files");
  EXPECT_EQ(error_of_recipe(kSmall, {"train.loss=mse"}),
            "[FILE] train.label_smoothing is 0.1, which the loss mse does not have: set it to 0");
}

}  // namespace
}  // namespace heed
