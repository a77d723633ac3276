// How much of a code book is used: latents that collapse onto a few codes say little.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

class CodeUsage {
 public:
  // Latents have `slices` codes, each one of `codes`.
  CodeUsage(int64_t codes, int64_t slices);

  void add(const Tensor& codes);  // i32 [N,slices]

  // The share of the codes that occurred, the mean over the slices.
  double share() const;
  // e to the entropy of the codes that occurred: as many codes, used alike, would say as much. The
  // geometric mean over the slices.
  double perplexity() const;

 private:
  int64_t codes_;
  int64_t slices_;
  std::vector<int64_t> counts_;  // [slices,codes]
};

}  // namespace heed
