// Fields that several kinds of requests have.
#pragma once

#include "decode/sampling.h"
#include "decode/text/embed.h"
#include "serve/api/json_request.h"

namespace heed::serve {

inline constexpr double kMostOutput = 4096;  // tokens that one request may ask for

// temperature, top_p, top_k, min_p, repetition_penalty.
SamplingOptions read_sampling(JsonRequest& fields, const SamplingOptions& fallback);
// seed; without one another each time.
uint64_t read_seed(JsonRequest& fields);
Pooling read_pooling(JsonRequest& fields);

}  // namespace heed::serve
