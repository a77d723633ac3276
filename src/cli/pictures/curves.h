// Learning curves from the logs of runs, as one picture.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heed::cli {

struct NamedRun {
  std::string name;
  std::filesystem::path folder;
};

// Training loss, validation loss and score of one run against steps, from log.jsonl into curves.svg
// beside it. Without two points of anything there is nothing to draw, and no file.
void write_curves(const std::filesystem::path& folder);
// Validation loss and score of several runs.
void compare_curves(const std::vector<NamedRun>& runs, const std::filesystem::path& picture);

// A metric as people write it: "BLEU", "accuracy".
std::string title_of(const std::string& metric);

}  // namespace heed::cli
