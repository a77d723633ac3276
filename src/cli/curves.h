// The learning curves of a run as one picture.
#pragma once

#include <filesystem>

namespace heed::cli {

// Reads log.jsonl and draws training loss, validation loss and BLEU against steps. Without two
// points of anything there is nothing to draw, and no file.
void write_curves(const std::filesystem::path& log, const std::filesystem::path& picture);

}  // namespace heed::cli
