// The configuration of latent translation: a Transformer's, a bottleneck's, and what joins them.
#pragma once

#include "models/translation/transformer.h"
#include "nn/bottleneck/bottleneck.h"

namespace heed {

struct LatentTransformerConfig : TransformerConfig, BottleneckConfig {
  int64_t shorten = 8;
  int64_t autoencoder_layers = 1;
  float autoencoder_dropout = 0.1F;
  int64_t predictor_layers = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    TransformerConfig::fields(v);
    v("shorten", shorten, "target tokens for which one latent stands: 2, 4, 8, ...",
      {.least = 2, .most = 64});
    v("autoencoder_layers", autoencoder_layers,
      "layers that read the target before it is shortened", {.least = 1, .most = 1000});
    v("autoencoder_dropout", autoencoder_dropout,
      "in these layers: with more, a target has other codes each time", {.least = 0, .most = 0.99});
    v("predictor_layers", predictor_layers,
      "layers that say the codes, one latent after the other; 0: as many as the decoder has",
      {.least = 0, .most = 1000});
    BottleneckConfig::fields(v);
  }
};

}  // namespace heed
