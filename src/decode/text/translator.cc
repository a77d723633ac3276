#include "decode/text/translator.h"

#include <algorithm>

#include "text/unicode.h"

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

std::vector<std::string> sentences(const std::string& text) {
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

}  // namespace

Translator::Translator(const LoadedModel& model, const TranslatorOptions& options)
    : model_(model), options_(options) {
  options_.decode.special = model.tokenizers.target->special();
  options_.decode.vocabulary = model.tokenizers.target->size();
  if (const int64_t most = model.model->longest(); most > 0) {
    options_.longest = std::min(options_.longest, most - 1);
  }
}

bool Translator::fits(const std::string& text) const {
  return static_cast<int64_t>(model_.encode_source(text).size()) <= options_.longest;
}

// Pieces of at most `longest` tokens: whole sentences if possible, else words, else characters.
std::vector<std::string> Translator::pieces_of(const std::string& text) const {
  if (fits(text)) {
    return {text};
  }
  std::vector<std::string> parts = sentences(text);
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

std::vector<Translator::Result> Translator::translate(std::span<const SourceText> texts) const {
  std::vector<DecodeRequest> requests;
  std::vector<Result> results(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::string> pieces =
        blank(texts[i].text) ? std::vector<std::string>() : pieces_of(texts[i].text);
    results[i].pieces = static_cast<int64_t>(pieces.size());
    for (const std::string& piece : pieces) {
      DecodeRequest request{model_.encode_source(piece)};
      if (request.source.empty()) {
        request.source.push_back(model_.tokenizers.source->special().unk);
      }
      if (&piece == &pieces.front() && !texts[i].prefix.empty()) {
        request.prefix = model_.tokenizers.target->encode(texts[i].prefix);
      }
      requests.push_back(std::move(request));
    }
  }
  const auto decoded = decode_all(*model_.model, requests, options_.decode, options_.batch_tokens);
  size_t next = 0;
  for (Result& result : results) {
    const auto end = next + static_cast<size_t>(result.pieces);
    const size_t count = result.pieces == 1 ? decoded[next].size() : 1;
    result.best.resize(std::max<size_t>(count, 1));
    for (; next < end; ++next) {
      for (size_t k = 0; k < std::min(count, decoded[next].size()); ++k) {
        const Hypothesis& hypothesis = decoded[next][k];
        TranslatedText& best = result.best[k];
        best.text +=
            (best.text.empty() ? "" : " ") + model_.tokenizers.target->decode(hypothesis.ids);
        best.score += hypothesis.score;
      }
    }
  }
  return results;
}

}  // namespace heed
