#include "decode/text/translator.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/sentences.h"

namespace heed {
namespace {

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

// The text cut after each character that `ends` accepts and the spaces that follow it.
template <typename Ends>
std::vector<std::string> cut_after(const std::string& text, const Ends& ends) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (ends(text[i]) && i + 1 < text.size() && text[i + 1] == ' ') {
      while (i + 1 < text.size() && text[i + 1] == ' ') {
        ++i;
      }
      parts.push_back(text.substr(begin, i + 1 - begin));
      begin = i + 1;
    }
  }
  if (begin < text.size()) {
    parts.push_back(text.substr(begin));
  }
  return parts;
}

std::vector<std::string> clauses(const std::string& text) {
  return cut_after(text, [](char c) { return c == '.' || c == '!' || c == '?' || c == ';'; });
}

std::vector<std::string> words(const std::string& text) {
  return cut_after(text, [](char c) { return c != ' '; });
}

// Two halves, not inside a character. One has three bytes behind its first at most; more of them
// are no UTF-8.
std::vector<std::string> halves(const std::string& text) {
  const size_t half = text.size() / 2;
  size_t middle = half;
  while (middle < std::min(half + 3, text.size()) &&
         (static_cast<unsigned char>(text[middle]) & 0xC0) == 0x80) {
    ++middle;
  }
  return {text.substr(0, middle), text.substr(middle)};
}

bool breaks_line(std::string_view space) { return space.find('\n') != std::string_view::npos; }

// Languages whose sentences follow each other without a space.
bool without_spaces(std::string_view language) {
  const std::string_view code = language.substr(0, language.find_first_of("-_"));
  return code == "zh" || code == "zho" || code == "chi" || code == "ja" || code == "jpn";
}

}  // namespace

Translator::Translator(const LoadedTranslator& model, const TranslatorOptions& options)
    : model_(model),
      options_(options),
      lines_(model.config.training_lines.value_or(TrainingLines())) {
  options_.decode.special = model.tokenizers.target->special();
  options_.decode.vocabulary = model.tokenizers.target->size();
  if (options_.longest == 0) {
    constexpr int64_t kLongest = 256;
    options_.longest = std::max(kLongest, lines_.most_tokens + (model.config.source_end ? 1 : 0));
  }
  if (const int64_t most = model.model->longest(); most > 0) {
    options_.longest = std::min(options_.longest, most - 1);
  }
  const int64_t most = std::max<int64_t>(1, options_.longest - (model.config.source_end ? 1 : 0));
  lines_.typical_tokens = std::min(lines_.typical_tokens, most);
  lines_.most_tokens = std::min(lines_.most_tokens, most);
}

bool Translator::fits(const std::string& text) const {
  return static_cast<int64_t>(model_.encode_source(text).size()) <= options_.longest;
}

int64_t Translator::source_tokens(std::string_view text) const {
  return std::ssize(model_.tokenizers.source->encode(text));
}

// What takes the place of white space between two parts.
std::string Translator::joint(std::string_view space) const {
  if (breaks_line(space)) {
    return std::string(space);
  }
  if (without_spaces(model_.config.target_language)) {
    return "";
  }
  return space.empty() ? " " : std::string(space);
}

// The line as a whole if the model learned from such lines, else its sentences, of which
// neighbours stay together as long as they are no more than a typical line.
std::vector<Translator::Part> Translator::parts_of_line(std::span<const Sentence> marked) const {
  const auto text_of = [](const Sentence& first, const Sentence& last) {
    return std::string(first.text.data(), last.text.data() + last.text.size());
  };
  const std::string whole = text_of(marked.front(), marked.back());
  if (marked.size() == 1 ||
      (std::ssize(marked) <= lines_.most_sentences && source_tokens(whole) <= lines_.most_tokens)) {
    return {Part{.text = whole}};
  }
  std::vector<Sentence> sentences;
  for (const Sentence& sentence : marked) {
    const auto parts = split_unmarked(sentence, model_.config.source_language);
    sentences.insert(sentences.end(), parts.begin(), parts.end());
  }
  std::vector<Part> parts;
  size_t first = 0;
  for (size_t i = 1; i < sentences.size(); ++i) {
    if (static_cast<int64_t>(i - first) == lines_.most_sentences ||
        source_tokens(text_of(sentences[first], sentences[i])) > lines_.typical_tokens) {
      parts.push_back({text_of(sentences[first], sentences[i - 1]), joint(sentences[i - 1].space)});
      first = i;
    }
  }
  parts.push_back({.text = text_of(sentences[first], sentences.back())});
  return parts;
}

Translator::Parts Translator::parts_of(const std::string& text) const {
  Parts result;
  if (blank(text)) {
    return result;
  }
  const std::vector<Sentence> all = split_sentences(text, model_.config.source_language);
  std::span<const Sentence> rest(all);
  if (rest.front().text.empty()) {
    result.before = breaks_line(rest.front().space) ? rest.front().space : "";
    rest = rest.subspan(1);
  }
  while (!rest.empty()) {
    size_t count = 1;  // sentences of the line
    while (count < rest.size() && !breaks_line(rest[count - 1].space)) {
      ++count;
    }
    std::vector<Part> parts = parts_of_line(rest.first(count));
    const std::string_view space = rest[count - 1].space;
    parts.back().joint = breaks_line(space) ? space : "";
    result.parts.insert(result.parts.end(), parts.begin(), parts.end());
    rest = rest.subspan(count);
  }
  if (result.parts.size() == 1 && !breaks_line(text)) {
    result.parts[0].text = text;  // as it stands, with the spaces around it
  }
  cut_long_parts(result);
  return result;
}

void Translator::cut_long_parts(Parts& parts) const {
  std::vector<Part> pieces;
  for (Part& part : parts.parts) {
    const std::vector<std::string> cut = pieces_of(part.text);
    parts.cut = parts.cut || cut.size() > 1;
    for (size_t i = 0; i + 1 < cut.size(); ++i) {
      pieces.push_back({cut[i], joint(" ")});
    }
    pieces.push_back({cut.back(), std::move(part.joint)});
  }
  parts.parts = std::move(pieces);
}

// Pieces of at most `longest` tokens: whole clauses if possible, else words, else characters.
std::vector<std::string> Translator::pieces_of(const std::string& text) const {
  if (fits(text)) {
    return {text};
  }
  std::vector<std::string> parts = clauses(text);
  if (parts.size() < 2) {
    parts = words(text);
  }
  if (parts.size() < 2) {
    parts = halves(text);
    if (parts[0].empty() || parts[1].empty()) {
      return {text};  // one character that is long by itself
    }
  }
  std::vector<std::string> pieces;
  for (const std::string& part : parts) {
    if (!pieces.empty() && fits(pieces.back() + part)) {
      pieces.back() += part;
      continue;
    }
    const std::vector<std::string> inside = pieces_of(part);
    pieces.insert(pieces.end(), inside.begin(), inside.end());
  }
  return pieces;
}

DecodeRequest Translator::request_for(const std::string& part, const std::string& prefix) const {
  DecodeRequest request{model_.encode_source(part)};
  if (request.source.empty()) {
    request.source.push_back(model_.tokenizers.source->special().unk);
  }
  if (!prefix.empty()) {
    request.prefix = model_.tokenizers.target->encode(prefix);
  }
  return request;
}

// The passes of a part behind those of the parts before it, which stay as they ended. START stands
// for a place without a token.
void Translator::add_passes(std::vector<std::vector<std::string>>& trace,
                            const Hypothesis& part) const {
  const Tokenizer& tokenizer = *model_.tokenizers.target;
  const std::vector<std::string> before = trace.empty() ? std::vector<std::string>() : trace.back();
  for (const std::vector<int32_t>& ids : part.trace) {
    std::vector<std::string>& pieces = trace.emplace_back(before);
    for (const int32_t id : ids) {
      pieces.push_back(id == tokenizer.special().start ? "" : tokenizer.piece(id));
    }
  }
}

std::string Translator::Shortfall::text() const {
  return fmt::format("{} tokens became only {}; the translation probably lacks something",
                     source_tokens, target_tokens);
}

// A few tokens more or less mean nothing, and whoever limits the length expects short ones.
bool Translator::improbably_short(const Shortfall& lengths) const {
  constexpr double kFew = 2.0;
  return options_.decode.max_length == 0 &&
         static_cast<double>(lengths.target_tokens) + kFew <
             lines_.least_ratio * static_cast<double>(lengths.source_tokens);
}

Translator::Result Translator::joined(const Parts& parts,
                                      std::span<const std::vector<Hypothesis>> decoded) const {
  Result result;
  result.pieces = std::ssize(parts.parts);
  result.cut = parts.cut;
  size_t count = parts.parts.empty() ? 1 : decoded.front().size();
  for (const std::vector<Hypothesis>& hypotheses : decoded) {
    count = std::min(count, hypotheses.size());
  }
  result.best.assign(count, TranslatedText{.text = parts.before});
  for (size_t i = 0; i < parts.parts.size(); ++i) {
    for (size_t k = 0; k < count; ++k) {
      const Hypothesis& hypothesis = decoded[i][k];
      result.best[k].text +=
          model_.tokenizers.target->decode(hypothesis.ids) + parts.parts[i].joint;
      result.best[k].score += hypothesis.score;
      add_passes(result.best[k].trace, hypothesis);
    }
    result.tokens += std::ssize(decoded[i].front().ids) + 1;
    result.steps += decoded[i].front().steps;
    result.passes.add(decoded[i].front());
    const Shortfall lengths{.source_tokens = source_tokens(parts.parts[i].text),
                            .target_tokens = std::ssize(decoded[i].front().ids)};
    if (!result.shortfall && improbably_short(lengths)) {
      result.shortfall = lengths;
    }
  }
  return result;
}

std::vector<Translator::Result> Translator::translate(std::span<const SourceText> texts) const {
  std::vector<Parts> all;
  std::vector<DecodeRequest> requests;
  for (const SourceText& text : texts) {
    all.push_back(parts_of(text.text));
    for (const Part& part : all.back().parts) {
      const bool first = &part == &all.back().parts.front();
      requests.push_back(request_for(part.text, first ? text.prefix : ""));
    }
  }
  const auto decoded = decode_all(*model_.model, requests, options_.decode, options_.batch_tokens,
                                  options_.on_decoded);
  std::vector<Result> results;
  std::span<const std::vector<Hypothesis>> rest(decoded);
  for (const Parts& parts : all) {
    results.push_back(joined(parts, rest.first(parts.parts.size())));
    rest = rest.subspan(parts.parts.size());
  }
  return results;
}

}  // namespace heed
