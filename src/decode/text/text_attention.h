// What every head of every layer looks at while a model reads or says a text.
#pragma once

#include <string>
#include <vector>

#include "models/folder.h"
#include "nn/scopes/attention_scope.h"

namespace heed {

struct TextAttentionRequest {
  std::string text;
  // A translator's translation (empty: its own), or an encoder's second text (empty: none).
  std::string second = {};
  int64_t beam = 4;         // for a translation of its own
  int64_t most_tokens = 0;  // longer texts are an Error; 0: any length
  bool crop = false;        // a language model reads the last tokens of a longer text instead
};

struct TextAttention {
  std::vector<std::string> source;   // pieces of what an encoder read; empty without one
  std::vector<std::string> target;   // pieces of what a decoder was shown; empty without one
  std::string translation;           // of a translator
  std::vector<LayerAttention> maps;  // f32 [1,H,queries,keys] each
  int64_t left_out = 0;              // tokens at the beginning of a text that was cropped
  // Of models whose positions halt by themselves: the steps of each token, f32 [1,T] each.
  std::vector<Pondering> pondering = {};
};

// An Error for a text that cannot be looked at; quick, since no model is asked.
void check_text_attention(const LoadedFolder& model, const TextAttentionRequest& request);

TextAttention attention_of_text(const LoadedFolder& model, const TextAttentionRequest& request);

}  // namespace heed
