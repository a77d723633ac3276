// `heed bench music-decode`: how fast music is generated with the cache of keys and values and by
// computing everything anew for each token, how long a minute of it takes, and that a limited
// memory keeps what it needs bounded.
#pragma once

#include "tensor/dtype.h"

namespace heed::cli {

struct MusicBench {
  DType dtype = DType::f32;
  int repetitions = 3;  // of a step that computes everything anew
};
void bench_music(const MusicBench& bench, bool json);

}  // namespace heed::cli
