// How large a batch of pairs has to be, for those who want to know before there is any data.
#pragma once

#include <cstdint>

namespace heed {

// An Error, if a batch of so many tokens cannot hold a pair of the greatest length.
void check_batch_tokens(int64_t batch_tokens, int64_t max_length);

}  // namespace heed
