#include "models/folder_output.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "data/demo/demo_files.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 13> kModelFiles = {"config.json",
                                                          "generation_config.json",
                                                          "model.safetensors",
                                                          "model.safetensors.index.json",
                                                          "tokenizer.model",
                                                          "tokenizer.json",
                                                          "tokenizer_config.json",
                                                          "special_tokens_map.json",
                                                          "added_tokens.json",
                                                          "vocabulary.json",
                                                          "vocab.json",
                                                          "vocab.txt",
                                                          "merges.txt"};
constexpr std::array<std::string_view, 4> kRunFiles = {"recipe.json", "log.jsonl", "curves.svg",
                                                       FolderLock::kFile};
constexpr std::array<std::string_view, 3> kRunFolders = {"checkpoint-", "averaged",
                                                         AtomicFolder::kPrefix};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_model_file(std::string_view name) {
  for (const std::string_view side : {"source.", "target."}) {
    if (name.starts_with(side)) {
      name.remove_prefix(side.size());
    }
  }
  return contains(kModelFiles, name) ||
         (name.starts_with("model-") && name.ends_with(".safetensors"));  // shards
}

// The built-in corpus, in a run that learns from it.
bool is_demo_corpus(const fs::path& folder) {
  return std::all_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [](const fs::directory_entry& entry) {
                       return contains(kDemoFiles, entry.path().filename().string());
                     });
}

bool is_own(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (entry.is_directory()) {
    return std::any_of(kRunFolders.begin(), kRunFolders.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
           (name == "data" && is_demo_corpus(entry.path()));
  }
  const size_t temporary = name.find(".tmp");  // of a process that was killed
  const std::string_view known = std::string_view(name).substr(0, temporary);
  return contains(kRunFiles, known) || is_model_file(known);
}

}  // namespace

bool is_run_folder(const fs::path& folder) { return fs::exists(folder / "recipe.json"); }

FolderContents contents_of(const fs::path& folder) {
  FolderContents contents;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    (is_own(entry) ? contents.own : contents.foreign).push_back(entry.path());
  }
  std::sort(contents.foreign.begin(), contents.foreign.end());
  return contents;
}

std::string occupied_by(const fs::path& folder) {
  if (!fs::exists(folder)) {
    return "";
  }
  check(fs::is_directory(folder), "[model folder] {} is a file, expected a folder",
        folder.string());
  if (is_run_folder(folder)) {
    return "a training run";
  }
  return fs::exists(folder / "config.json") || fs::exists(folder / "model.safetensors")
             ? "another model"
             : "";
}

void check_output_folder(const fs::path& folder, Existing existing) {
  std::string found = occupied_by(folder);
  if (!fs::exists(folder) || fs::is_empty(folder)) {
    return;
  }
  const std::vector<fs::path> foreign = contents_of(folder).foreign;
  if (found.empty() && !foreign.empty()) {
    found = foreign.front().filename().string();
  }
  check(existing == Existing::replace || found.empty(),
        "[model folder] {} holds {}; give another folder, or replace it with --force",
        folder.string(), found);
  check(foreign.empty(),
        "[model folder] {} holds {}, which is part of no model; move it, or give another folder",
        folder.string(), foreign.empty() ? "" : foreign.front().filename().string());
}

void save_folder(const fs::path& folder, const FolderConfig& config, const Tokenizers& tokenizers,
                 const ParameterStore& store, DType dtype, Existing existing) {
  check_output_folder(folder, existing);
  std::optional<FolderLock> lock;  // a run that is being trained is not replaced
  if (is_run_folder(folder)) {
    lock.emplace(folder);
  }
  AtomicFolder made(folder);
  save_config(made.path(), config, dtype == DType::i8);
  save_tokenizers(made.path(), tokenizers);
  save_parameters(made.path() / "model.safetensors", store, config.model, dtype);
  made.commit();
}

void convert_folder(const fs::path& input, const fs::path& output, DType dtype, Existing existing) {
  check(!fs::exists(output) || !fs::equivalent(input, output),
        "[convert] {} is both input and output", input.string());
  check_output_folder(output, existing);  // before the work
  LoadedFolder loaded;
  load_folder(input, DType::f32, loaded);
  save_folder(output, loaded.config, loaded.tokenizers, loaded.store, dtype, existing);
}

}  // namespace heed
