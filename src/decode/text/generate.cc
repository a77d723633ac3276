#include "decode/text/generate.h"

#include "base/error.h"

namespace heed {

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids = tokenizer.encode(text);
  if (ids.empty() && tokenizer.special().end >= 0) {
    ids.push_back(tokenizer.special().end);
  }
  return ids;
}

int32_t separator_of(const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  return special.start >= 0 ? special.start : special.end;
}

std::vector<Generated> generate(const LoadedLanguageModel& model,
                                std::span<const GenerateRequest> requests,
                                const GenerateOptions& options,
                                const GenerateCallbacks& callbacks) {
  TextRows rows(*model.model, *model.tokenizers.target);
  return generate(rows, requests, options, callbacks);
}

std::vector<Generated> generate(TextRows& rows, std::span<const GenerateRequest> requests,
                                const GenerateOptions& options,
                                const GenerateCallbacks& callbacks) {
  uint64_t first = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    check(!requests[i].prompt.empty(),
          "[generate] prompt {} is empty, and the tokenizer has no END to start with", i + 1);
    TextRequest request{
        .prompt = requests[i].prompt, .options = options, .sample = requests[i].sample};
    if (callbacks.token) {
      request.more = [&callbacks, i](int32_t id) { return callbacks.token(i, id); };
    }
    const uint64_t row = rows.add(std::move(request));  // numbered one by one
    first = i == 0 ? row : first;
  }
  std::vector<Generated> results(requests.size());
  while (rows.size() > 0) {
    for (const TextAdvance& advance : rows.step()) {
      if (advance.error) {
        std::rethrow_exception(advance.error);
      }
      const size_t index = advance.row - first;
      Generated& result = results[index];
      if (advance.token) {
        result.ids.push_back(advance.token->id);
      }
      result.text += advance.text;
      if (callbacks.text && !advance.text.empty()) {
        callbacks.text(index, advance.text);
      }
      result.end = advance.end.value_or(result.end);
      result.forgotten = advance.forgotten;
      result.passes = advance.passes;
    }
  }
  return results;
}

}  // namespace heed
