#include "train/prepare.h"

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "data/demo/demo_files.h"
#include "data/text/lines.h"
#include "train/checkpoint.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// The first key, with its path, in which two recipes differ; parts that may change are left out.
std::string first_difference(const Json& a, const Json& b, const std::string& path) {
  static const std::vector<std::string> free{
      "train.steps", "train.epochs",    "train.minutes", "train.log_every",
      "validation",  "checkpoint.keep", "train.average", "train.most_skips"};
  if (a == b || std::find(free.begin(), free.end(), path) != free.end()) {
    return "";
  }
  if (!a.is_object() || !b.is_object()) {
    return path;
  }
  for (const auto& item : a.items()) {
    if (!b.contains(item.key())) {
      return config::joined(path, item.key());
    }
    std::string inside =
        first_difference(item.value(), b.at(item.key()), config::joined(path, item.key()));
    if (!inside.empty()) {
      return inside;
    }
  }
  return "";
}

// Whose tokenizer is taken; empty: one is made.
const std::string& given_folder(const Recipe& recipe) {
  return recipe.train.from.empty() ? recipe.text.folder : recipe.train.from;
}

TokenizerTraining training_options(const TextConfig& text) {
  return {.kind = text.kind,
          .vocabulary = static_cast<int32_t>(text.vocabulary),
          .character_coverage = text.character_coverage,
          .lower_case = text.lower_case};
}

std::vector<std::string> sample_lines(const std::vector<PairFiles>& files, bool source,
                                      int64_t most) {
  TextPairs pairs(files);
  TextPair pair;
  std::vector<std::string> lines;
  while (static_cast<int64_t>(lines.size()) < most && pairs.next(pair)) {
    lines.push_back(source ? pair.source : pair.target);
  }
  return lines;
}

VocabularySizes sizes_for(const Tokenizers& tokenizers) {
  // Rounded up, so that the output product has whole vectors; the surplus is never said.
  constexpr int64_t kMultiple = 16;
  const auto rounded = [](const Tokenizer& tokenizer) {
    return (tokenizer.size() + kMultiple - 1) / kMultiple * kMultiple;
  };
  return {.source = rounded(*tokenizers.source),
          .target = rounded(*tokenizers.target),
          .joint = tokenizers.joint()};
}

}  // namespace

void prepare_run_folder(const fs::path& folder, const Recipe& recipe, bool resume) {
  const fs::path file = folder / "recipe.json";
  const Json json = write_recipe(recipe);
  if (fs::exists(file)) {
    check(resume,
          "[train] {} holds a run already: continue it with --resume, or give another --out",
          folder.string());
    const Json before = Json::parse(read_file(file), nullptr, false);
    check(!before.is_discarded(), "[train] {} is not valid JSON", file.string());
    const std::string key = first_difference(before, json, "");
    check(key.empty(), "[train] {} was begun with another {}; a resumed run must have the same",
          folder.string(), key);
  }
  fs::create_directories(folder);
  write_file(file, json.dump(2) + "\n");
}

DataConfig materialise_data(const DataConfig& data, const fs::path& folder) {
  if (data.builtin.empty()) {
    return data;
  }
  const fs::path files = folder / "data";
  DataConfig result = data;
  result.source = {(files / "train.en").string()};
  result.target = {(files / "train.it").string()};
  result.valid_source = (files / "valid.en").string();
  result.valid_target = (files / "valid.it").string();
  result.test_source = (files / "test.en").string();
  result.test_target = (files / "test.it").string();
  if (!fs::exists(result.test_target)) {
    write_demo_corpus(make_demo_corpus(), files);
  }
  return result;
}

std::vector<PairFiles> pair_files(const DataConfig& data) {
  std::vector<PairFiles> files;
  for (const std::string& tsv : data.tsv) {
    files.push_back({tsv, {}});
  }
  for (size_t i = 0; i < data.source.size(); ++i) {
    files.push_back({data.source[i], data.target[i]});
  }
  return files;
}

std::vector<std::string> sample_text(const Recipe& recipe) {
  std::vector<std::string> lines;
  for (const std::string& file : recipe.data.text) {
    LineReader reader(file);
    for (std::string line; std::ssize(lines) < recipe.text.sample && reader.next(line);) {
      lines.push_back(line + (recipe.data.line_end ? "" : "\n"));
    }
  }
  return lines;
}

Tokenizers prepare_text_tokenizer(const Recipe& recipe, const fs::path& folder,
                                  std::vector<std::string> lines) {
  if (has_tokenizers(folder)) {
    return load_tokenizers(folder);
  }
  Tokenizers tokenizers;
  if (const std::string& given = given_folder(recipe); !given.empty()) {
    tokenizers = load_tokenizers(given);
  } else {
    lines.resize(std::min(lines.size(), static_cast<size_t>(recipe.text.sample)));
    const auto tokenizer = train_tokenizer(lines, training_options(recipe.text));
    tokenizers = {tokenizer, tokenizer};
  }
  save_tokenizers(folder, tokenizers);
  return tokenizers;
}

Tokenizers prepare_tokenizers(const Recipe& recipe, const fs::path& folder) {
  if (has_tokenizers(folder)) {
    return load_tokenizers(folder);
  }
  Tokenizers tokenizers;
  if (const std::string& given = given_folder(recipe); !given.empty()) {
    tokenizers = load_tokenizers(given);
  } else {
    const TokenizerTraining options = training_options(recipe.text);
    const std::vector<PairFiles> files = pair_files(recipe.data);
    std::vector<std::string> source = sample_lines(files, true, recipe.text.sample);
    const std::vector<std::string> target = sample_lines(files, false, recipe.text.sample);
    if (recipe.text.joint) {
      source.insert(source.end(), target.begin(), target.end());
      tokenizers.source = train_tokenizer(source, options);
      tokenizers.target = tokenizers.source;
    } else {
      tokenizers.source = train_tokenizer(source, options);
      tokenizers.target = train_tokenizer(target, options);
    }
  }
  save_tokenizers(folder, tokenizers);
  return tokenizers;
}

Json model_to_train(const Recipe& recipe, const Tokenizers& tokenizers) {
  if (recipe.train.from.empty()) {
    return with_vocabularies(recipe.model, sizes_for(tokenizers));
  }
  const Json model = load_config(recipe.train.from).model;
  const std::string found = model_spec(model).kind;
  const std::string wanted = model_spec(recipe.model).kind;
  check(found == wanted, "[train] {} is a \"{}\", the recipe wants a \"{}\"", recipe.train.from,
        found, wanted);
  return with_dropout_of(model, recipe.model);
}

void truncate_log(const fs::path& file, int64_t step) {
  if (!fs::exists(file)) {
    return;
  }
  std::ifstream stream(file);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_discarded() && json.value("step", int64_t{0}) <= step) {
      kept += line + "\n";
    }
  }
  write_file(file, kept);
}

}  // namespace heed
