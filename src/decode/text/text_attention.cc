#include "decode/text/text_attention.h"

#include <algorithm>

#include "base/error.h"
#include "decode/text/decoding.h"
#include "decode/text/embed.h"
#include "decode/text/parallel_decoding.h"

namespace heed {
namespace {

std::vector<std::string> pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> texts;
  texts.reserve(ids.size());
  for (const int32_t id : ids) {
    texts.push_back(tokenizer.piece(id));
  }
  return texts;
}

// Target ids: those given, or the model's own translation.
std::vector<int32_t> target_ids(const LoadedFolder& model, const TranslationModel& translator,
                                const TextAttentionRequest& request,
                                const std::vector<int32_t>& source) {
  if (!request.second.empty()) {
    return model.tokenizers.target->encode(request.second);
  }
  const std::vector<DecodeRequest> requests{{source}};
  const auto decoded = decode_batch(translator, requests,
                                    {.beam = request.beam,
                                     .special = model.tokenizers.target->special(),
                                     .vocabulary = model.tokenizers.target->size()});
  std::vector<int32_t> ids = decoded.front().front().ids;
  // START stands in front of them when they are shown.
  if (const int64_t longest = translator.longest(); longest > 0) {
    ids.resize(std::min(ids.size(), static_cast<size_t>(longest - 1)));
  }
  return ids;
}

TextAttention look_at(const LoadedFolder& model, const Seq2SeqModel& translator,
                      const TextAttentionRequest& request) {
  const std::vector<int32_t> source = model.encode_source(request.text);
  std::vector<int32_t> input = target_ids(model, translator, request, source);
  TextAttention found{.source = pieces(*model.tokenizers.source, source),
                      .target = {},
                      .translation = model.tokenizers.target->decode(input),
                      .maps = {},
                      .left_out = 0};
  input.insert(input.begin(), model.tokenizers.target->special().start);
  found.target = pieces(*model.tokenizers.target, input);
  const std::vector<int32_t> source_lengths{static_cast<int32_t>(source.size())};
  const std::vector<int32_t> target_lengths{static_cast<int32_t>(input.size())};
  const Tensor target = Tensor::from_ints(input, {1, std::ssize(input)});
  AttentionScope scope;
  translator.logits({.source = Tensor::from_ints(source, {1, std::ssize(source)}),
                     .source_lengths = Tensor::from_ints(source_lengths, {1}),
                     .input = target,
                     .target = target,
                     .target_lengths = Tensor::from_ints(target_lengths, {1})});
  found.pondering = scope.pondering();
  found.maps = scope.take();
  return found;
}

// All positions of a parallel decoder look at each other. One that reads tokens is shown the
// translation, others copies of the source.
TextAttention look_at(const LoadedFolder& model, const ParallelModel& translator,
                      const TextAttentionRequest& request) {
  const std::vector<int32_t> source = model.encode_source(request.text);
  std::vector<int32_t> target = target_ids(model, translator, request, source);
  TextAttention found{.source = pieces(*model.tokenizers.source, source),
                      .target = {},
                      .translation = model.tokenizers.target->decode(target),
                      .maps = {},
                      .left_out = 0};
  target.push_back(model.tokenizers.target->special().end);
  found.target = pieces(*model.tokenizers.target, target);
  const std::vector<int32_t> source_lengths{static_cast<int32_t>(source.size())};
  const std::vector<int32_t> target_lengths{static_cast<int32_t>(target.size())};
  const bool copies = translator.input() == ParallelModel::Input::copied;
  const Shape row{1, std::ssize(target)};
  AttentionScope scope;
  const auto state = translator.start(Tensor::from_ints(source, {1, std::ssize(source)}),
                                      Tensor::from_ints(source_lengths, {1}));
  translator.pass(
      {.tokens = copies ? Tensor() : Tensor::from_ints(target, row),
       .copied =
           copies ? Tensor::from_ints(spread_copies(std::ssize(source), row[1]), row) : Tensor(),
       .lengths = Tensor::from_ints(target_lengths, {1})},
      *state);
  found.maps = scope.take();
  return found;
}

// The longest text that the request can be about; 0: any number of tokens.
int64_t most_tokens(const LoadedFolder& model, const TextAttentionRequest& request) {
  // An encoder that can read no more leaves the end out.
  int64_t most = 0;
  if (const auto* language = dynamic_cast<const LanguageModel*>(model.any.get())) {
    most = language->context();
  } else if (const auto* translator = dynamic_cast<const TranslationModel*>(model.any.get())) {
    most = translator->longest() > 0 ? std::max<int64_t>(1, translator->longest() - 1) : 0;
  }
  if (request.most_tokens > 0) {
    most = most > 0 ? std::min(most, request.most_tokens) : request.most_tokens;
  }
  return most;
}

TextAttention look_at(const LoadedFolder& model, const LanguageModel& language,
                      const TextAttentionRequest& request) {
  std::vector<int32_t> ids = model.tokenizers.target->encode(request.text);
  TextAttention found;
  if (const int64_t most = most_tokens(model, request); most > 0 && std::ssize(ids) > most) {
    found.left_out = std::ssize(ids) - most;
    ids.erase(ids.begin(), ids.begin() + found.left_out);
  }
  found.target = pieces(*model.tokenizers.target, ids);
  AttentionScope scope;
  language.logits(Tensor::from_ints(ids, {1, std::ssize(ids)}));
  found.pondering = scope.pondering();
  found.maps = scope.take();
  return found;
}

TextAttention look_at(const LoadedFolder& model, const TextEncoder& encoder,
                      const TextAttentionRequest& request) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  std::optional<std::vector<int32_t>> second;
  if (!request.second.empty()) {
    second = tokenizer.encode(request.second);
  }
  const std::vector<EncodedText> texts{
      join_texts(tokenizer, tokenizer.encode(request.text), second, encoder.longest())};
  const int64_t only = 0;
  TextAttention found;
  found.source = pieces(tokenizer, texts.front().tokens);
  AttentionScope scope;
  const TextBatch batch =
      to_tensors(pad_texts(texts, std::span(&only, 1), tokenizer.special().pad));
  encoder.summary(encoder.hidden(batch), batch);  // there are those that attend only to sum up
  found.pondering = scope.pondering();
  found.maps = scope.take();
  return found;
}

}  // namespace

void check_text_attention(const LoadedFolder& model, const TextAttentionRequest& request) {
  const int64_t first = std::ssize(model.tokenizers.source->encode(request.text));
  const int64_t second = std::ssize(model.tokenizers.target->encode(request.second));
  check(first > 0, "[attention] the text has no tokens, expected some");
  const bool crops = request.crop && dynamic_cast<const LanguageModel*>(model.any.get()) != nullptr;
  const int64_t most = crops ? 0 : most_tokens(model, request);
  check(most == 0 || std::max(first, second) <= most,
        "[attention] a text has {} tokens, expected at most {}", std::max(first, second), most);
}

TextAttention attention_of_text(const LoadedFolder& model, const TextAttentionRequest& request) {
  check(model.spec().attention, "[attention] this model has no attention weights to show");
  check_text_attention(model, request);
  TextAttention found;
  if (const auto* translator = dynamic_cast<const Seq2SeqModel*>(model.any.get())) {
    found = look_at(model, *translator, request);
  } else if (const auto* parallel = dynamic_cast<const ParallelModel*>(model.any.get())) {
    found = look_at(model, *parallel, request);
  } else if (const auto* language = dynamic_cast<const LanguageModel*>(model.any.get())) {
    found = look_at(model, *language, request);
  } else {
    found = look_at(model, model_as<TextEncoder>(*model.any, model.config.model), request);
  }
  return found;
}

}  // namespace heed
