// How likely an autoregressive model takes translations to be that another one made: all tokens of
// all of them in one pass.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decode/text/decoding.h"
#include "models/folder.h"

namespace heed {

// Gives every hypothesis the model's log-probability and, by the length penalty of the options, its
// score. hypotheses[i] are those of requests[i]. Source and target ids must be the model's own.
void rescore(const Seq2SeqModel& model, std::span<const DecodeRequest> requests,
             const DecodeOptions& options, std::span<std::vector<Hypothesis>> hypotheses);

// The model in a folder, if it has the tokenizers of the one whose translations it is to judge; an
// Error otherwise.
std::unique_ptr<LoadedModel> load_rescorer(const std::filesystem::path& folder,
                                           std::optional<DType> compute,
                                           const LoadedTranslator& judged);

}  // namespace heed
