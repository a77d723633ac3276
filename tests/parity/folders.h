// Models as the folders that Hugging Face's programs read, with what they compute.
#pragma once

#include <string>

namespace heed::parity {

// A GPT-2 and a BERT with random weights: config.json, model.safetensors, inputs and outputs.
void dump_folders(const std::string& folder);

}  // namespace heed::parity
