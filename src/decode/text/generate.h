// Text that goes on where a prompt ends.
//
// Rows are independent (decode/text/text_rows.h): what a prompt is followed by depends on it, the
// options and the seed alone, not on what else is in the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/text/text_rows.h"
#include "models/folder.h"

namespace heed {

struct GenerateRequest {
  std::vector<int32_t> prompt;
  uint64_t sample = 0;  // requests with other numbers draw other random numbers
};

struct Generated {
  std::vector<int32_t> ids;  // without END
  std::string text;
  GenerateEnd end = GenerateEnd::length;
  // Tokens at the beginning that the model could not look at any more when the last one was drawn.
  int64_t forgotten = 0;
  int64_t passes = 0;  // of the model; with a draft fewer than tokens
};

using LoadedLanguageModel = Loaded<LanguageModel>;
// Called with each request's index and the next piece of its text.
using TextCallback = std::function<void(size_t request, const std::string& text)>;
// The same with the next token. False: that is enough, and the token the last one.
using TokenCallback = std::function<bool(size_t request, int32_t id)>;
struct GenerateCallbacks {
  TextCallback text = {};
  TokenCallback token = {};
};

// A prompt as the model reads it. An empty one becomes END, which starts texts.
std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text);

// What stands between a source and its summary in one sequence: START, or END where there is none.
int32_t separator_of(const Tokenizer& tokenizer);

// All requests at once, by rows that hold no others.
std::vector<Generated> generate(TextRows& rows, std::span<const GenerateRequest> requests,
                                const GenerateOptions& options,
                                const GenerateCallbacks& callbacks = {});
std::vector<Generated> generate(const LoadedLanguageModel& model,
                                std::span<const GenerateRequest> requests,
                                const GenerateOptions& options,
                                const GenerateCallbacks& callbacks = {});

}  // namespace heed
