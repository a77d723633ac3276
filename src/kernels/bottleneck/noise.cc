#include "kernels/bottleneck/noise.h"

#include "base/parallel.h"

namespace heed::kernels {

// Drawing a number takes far longer than what is done with it, so the loop is plain.
void add_noise(const AddNoise& args) {
  copy({.n = args.n, .from = args.x, .to = {args.y, DType::f32}, .scale = args.scale});
  if (args.amount == 0.0F) {
    return;
  }
  const float factor = args.scale * args.amount;
  parallel_for(args.n, kParallelGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      args.y[i] += factor * noise_at(args.kind, args.stream, static_cast<uint64_t>(i));
    }
  });
}

}  // namespace heed::kernels
