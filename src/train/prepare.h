// What stands between a recipe and the first step: the run folder, the data, the tokenizer.
#pragma once

#include <filesystem>
#include <vector>

#include "data/text/pairs.h"
#include "models/folder.h"
#include "train/recipe.h"

namespace heed {

// Makes the folder and keeps the recipe in it. A folder with a run in it is an Error unless the run
// is resumed, and then the recipe must be the same in everything that the weights depend on.
void prepare_run_folder(const std::filesystem::path& folder, const Recipe& recipe, bool resume);

// Writes a built-in corpus into the run folder, so that what follows sees files in any case.
DataConfig materialise_data(const DataConfig& data, const std::filesystem::path& folder);
std::vector<PairFiles> pair_files(const DataConfig& data);

// From the run folder if it has them, from the model that the training begins with or the folder
// the recipe names, or made from the data; kept in the run folder.
Tokenizers prepare_tokenizers(const Recipe& recipe, const std::filesystem::path& folder);

// The same for one language, made from the lines.
Tokenizers prepare_text_tokenizer(const Recipe& recipe, const std::filesystem::path& folder,
                                  std::vector<std::string> lines);
// What a language model's tokenizer is made from.
std::vector<std::string> sample_text(const Recipe& recipe);

// The model that the recipe asks for, with the tokenizers' vocabularies; of one that the training
// begins with, everything but dropout is as it was.
Json model_to_train(const Recipe& recipe, const Tokenizers& tokenizers);

// Drops lines of a log past a step: what a resumed run will write again.
void truncate_log(const std::filesystem::path& file, int64_t step);

}  // namespace heed
