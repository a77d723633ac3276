// What all forms of the Universal Transformer (Dehghani et al. 2018) have in their configurations:
// translator, language model and encoder. models/language/ and models/translation/ have the forms.
#pragma once

#include <string>

#include "nn/universal/universal_stack.h"

namespace heed {

struct UniversalOptions {
  bool halting = true;
  float halting_threshold = 0.99F;
  float ponder_cost = 0.01F;
  std::string transition = "feed_forward";
  int64_t transition_kernel = 3;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("halting", halting, "each position halts by itself; false: all take all steps");
    v("halting_threshold", halting_threshold,
      "a position halts when its probabilities of halting add up to this", {.least = 0, .most = 1});
    v("ponder_cost", ponder_cost, "what a step of a position adds to the loss",
      {.least = 0, .most = 100});
    v("transition", transition, "what follows attention in each step",
      {.choices = {"feed_forward", "separable_convolution"}});
    v("transition_kernel", transition_kernel,
      "positions that each of the two separable convolutions sees", {.least = 2, .most = 255});
  }

  // The stack with these options; its layer has sizes, activation and dropout already.
  UniversalConfig applied_to(UniversalConfig stack) const;
};

// The sizes and options that the language model and the encoder have in common.
struct UniversalSizes : UniversalOptions {
  int64_t width = 256;
  int64_t heads = 4;
  int64_t steps = 6;
  int64_t hidden = 1024;
  float dropout = 0.1F;
  float attention_dropout = 0.1F;
  float hidden_dropout = 0.1F;
  bool pre_norm = true;
  std::string positions = "sinusoidal";
  int64_t relative_distance = 16;
  std::string activation = "relu";
  float epsilon = 1e-5F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("steps", steps, "how often the layer is applied, at most", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the transition's hidden layer", {.least = 1, .most = 1 << 20});
    v("dropout", dropout, "dropout of embeddings and of each branch before it is added",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("hidden_dropout", hidden_dropout, "dropout inside the transition",
      {.least = 0, .most = 0.99});
    v("pre_norm", pre_norm, "normalise before attention and transition instead of after");
    v("positions", positions, "how positions are encoded",
      {.choices = {"sinusoidal", "sinusoidal_halves", "learned", "relative", "none"}});
    v("relative_distance", relative_distance, "largest distance that relative positions tell apart",
      {.least = 1, .most = 65536});
    v("activation", activation, "activation function of the transition",
      {.choices = {"relu", "gelu", "gelu_tanh"}});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
    UniversalOptions::fields(v);
  }

  // The stack of an encoder, or of a causal decoder without memory; sequences have at most
  // `longest` tokens.
  UniversalConfig stack(bool causal, int64_t longest) const;
};

}  // namespace heed
