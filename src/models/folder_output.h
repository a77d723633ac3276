// Which folders a new model or run may be written to. Models and runs that are there already are
// replaced only by those who ask for it, and files of others never.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/folder.h"

namespace heed {

// What happens to a model or a run that is already where a model folder is written.
enum class Existing { refuse, replace };

// save_folder() and convert_folder() of models/folder.h, which refuse. The new folder has its name
// only when it is whole, and what was there before stays until then.
void save_folder(const std::filesystem::path& folder, const FolderConfig& config,
                 const Tokenizers& tokenizers, const ParameterStore& store, DType dtype,
                 Existing existing);
void convert_folder(const std::filesystem::path& input, const std::filesystem::path& output,
                    DType dtype, Existing existing);

bool is_run_folder(const std::filesystem::path& folder);

// What lies in the folder and would be lost if it went to another model or run: nothing (empty), or
// what to say about it, such as "a training run".
std::string occupied_by(const std::filesystem::path& folder);

// The files and folders that Heed wrote as parts of a model or a run; and those of others, by name.
struct FolderContents {
  std::vector<std::filesystem::path> own;
  std::vector<std::filesystem::path> foreign;
};
FolderContents contents_of(const std::filesystem::path& folder);

// An Error, if a model folder cannot be written there.
void check_output_folder(const std::filesystem::path& folder, Existing existing);

}  // namespace heed
