// A few short inputs that a task leaves in the folder of its model, so that whoever opens it can
// try the model with what it knows. They come from the held-out data, or from the training data of
// a recipe that holds nothing out.
#pragma once

#include <string>
#include <vector>

#include "data/text/table.h"

namespace heed {

// Up to four different ones, from all over the texts; long ones end after a word.
std::vector<std::string> pick_examples(const std::vector<std::string>& texts);
// The texts of a table, with a tab before the second of a pair.
std::vector<std::string> pick_examples(const std::vector<LabelledText>& rows);
// The same with the first half of each text alone, for a model to continue.
std::vector<std::string> pick_prompts(const std::vector<std::string>& texts);
// The same with the mask in place of a word in the middle of each text.
std::vector<std::string> pick_masked(const std::vector<std::string>& texts,
                                     const std::string& mask);

}  // namespace heed
