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
  for (size_t i = 0; i < requests.size(); ++i) {
    check(!requests[i].prompt.empty(),
          "[generate] prompt {} is empty, and the tokenizer has no END to start with", i + 1);
    TextRequest request{
        .prompt = requests[i].prompt, .options = options, .sample = requests[i].sample};
    if (callbacks.token) {
      request.more = [&callbacks, i](int32_t id) { return callbacks.token(i, id); };
    }
    rows.add(std::move(request));  // numbered as the requests are
  }
  std::vector<Generated> results(requests.size());
  while (rows.size() > 0) {
    for (const TextAdvance& advance : rows.step()) {
      if (advance.error) {
        std::rethrow_exception(advance.error);
      }
      Generated& result = results[advance.row];
      if (advance.token) {
        result.ids.push_back(advance.token->id);
      }
      result.text += advance.text;
      if (callbacks.text && !advance.text.empty()) {
        callbacks.text(advance.row, advance.text);
      }
      result.end = advance.end.value_or(result.end);
      result.forgotten = advance.forgotten;
    }
  }
  return results;
}

}  // namespace heed
