#include "data/music/music_tokens.h"

#include <fmt/core.h>

#include "base/error.h"
#include "music/performance.h"
#include "text/vocabulary.h"

namespace heed {
namespace {

const std::vector<std::string> kSpecial{"<pad>", "<s>", "</s>", "<unk>"};

std::vector<std::string> tokens_of(MusicForm form) {
  std::vector<std::string> tokens = kSpecial;
  if (form == MusicForm::performance) {
    for (int32_t symbol = 0; symbol < kPerformanceSymbols; ++symbol) {
      tokens.push_back(performance_symbol(symbol));
    }
  } else {
    for (int32_t symbol = 0; symbol < kChoraleTokens; ++symbol) {
      tokens.push_back(symbol + 1 < kChoraleTokens ? fmt::format("PITCH<{}>", symbol) : "SILENCE");
    }
  }
  return tokens;
}

}  // namespace

std::shared_ptr<const Tokenizer> music_tokenizer(MusicForm form) {
  return std::make_shared<Vocabulary>(
      Vocabulary::Content{.pre_tokenized = true,
                          .special = {.pad = 0, .start = kMusicStart, .end = kMusicEnd, .unk = 3},
                          .tokens = tokens_of(form)},
      "music");
}

MusicForm music_form(const Tokenizer& tokenizer) {
  for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
    const std::vector<std::string> tokens = tokens_of(form);
    bool same = tokenizer.size() == std::ssize(tokens);
    for (int32_t id = 0; same && id < tokenizer.size(); ++id) {
      same = tokenizer.piece(id) == tokens[static_cast<size_t>(id)];
    }
    if (same) {
      return form;
    }
  }
  fail(
      "[music] a {} tokenizer of {} tokens is not a vocabulary of music; was the model trained on "
      "it?",
      tokenizer.kind(), tokenizer.size());
}

std::vector<int32_t> music_pitches(MusicForm form) {
  std::vector<int32_t> pitches(tokens_of(form).size(), kNoPitch);
  for (int32_t pitch = 0; pitch < kPitches; ++pitch) {
    if (form == MusicForm::chorale) {
      pitches[kSpecial.size() + static_cast<size_t>(pitch)] = pitch;
    } else {
      pitches[kSpecial.size() + static_cast<size_t>(kNoteOn + pitch)] = pitch;
      pitches[kSpecial.size() + static_cast<size_t>(kNoteOff + pitch)] = pitch;
    }
  }
  return pitches;
}

std::vector<int32_t> music_tokens(std::span<const int32_t> symbols) {
  std::vector<int32_t> tokens;
  for (const int32_t symbol : symbols) {
    tokens.push_back(symbol + static_cast<int32_t>(kSpecial.size()));
  }
  return tokens;
}

std::vector<int32_t> music_symbols(std::span<const int32_t> tokens) {
  std::vector<int32_t> symbols;
  for (const int32_t token : tokens) {
    if (token >= static_cast<int32_t>(kSpecial.size())) {
      symbols.push_back(token - static_cast<int32_t>(kSpecial.size()));
    }
  }
  return symbols;
}

}  // namespace heed
