#include "models/universal_options.h"

#include "nn/transition/separable_convolution.h"

namespace heed {

UniversalConfig UniversalOptions::applied_to(UniversalConfig stack) const {
  if (halting) {
    stack.halting = {.threshold = halting_threshold, .cost = ponder_cost};
  }
  if (transition == "separable_convolution") {
    stack.layer.transition = mixer<SeparableConvolution>({.width = stack.layer.width,
                                                          .hidden = stack.layer.hidden,
                                                          .kernel = transition_kernel,
                                                          .activation = stack.layer.activation,
                                                          .dropout = stack.layer.hidden_dropout});
  }
  return stack;
}

UniversalConfig UniversalSizes::stack(bool causal, int64_t longest) const {
  const bool relative = positions == "relative";
  return applied_to(
      {.layer = {.width = width,
                 .mixer =
                     mixer<SelfAttention>({.width = width,
                                           .heads = heads,
                                           .dropout = attention_dropout,
                                           .relative_distance = relative ? relative_distance : 0,
                                           .relative_future = !causal}),
                 .hidden = hidden,
                 .activation = activation_of(activation),
                 .dropout = dropout,
                 .hidden_dropout = hidden_dropout,
                 .pre_norm = pre_norm,
                 .epsilon = epsilon},
       .positions = {.kind = relative ? "none" : positions, .width = width, .longest = longest},
       .steps = steps,
       .label = causal ? "decoder" : "encoder"});
}

}  // namespace heed
