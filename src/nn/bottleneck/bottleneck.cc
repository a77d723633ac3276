#include "nn/bottleneck/bottleneck.h"

#include "base/error.h"
#include "nn/bottleneck/gumbel.h"
#include "nn/bottleneck/semantic_hasher.h"
#include "nn/bottleneck/vector_quantiser.h"

namespace heed {

std::unique_ptr<Bottleneck> make_bottleneck(const Scope& s, int64_t width,
                                            const BottleneckConfig& config) {
  if (config.bottleneck == "semantic_hash") {
    return std::make_unique<SemanticHasher>(s, width, config);
  }
  if (config.bottleneck == "gumbel_softmax") {
    return std::make_unique<GumbelBottleneck>(s, width, config);
  }
  check(config.bottleneck == "vector_quantiser",
        "[bottleneck] the kind is {}, expected semantic_hash, vector_quantiser or gumbel_softmax",
        config.bottleneck);
  return std::make_unique<VectorQuantiser>(s, width, config);
}

}  // namespace heed
