#include "train/metrics/code_usage.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace heed {

CodeUsage::CodeUsage(int64_t codes, int64_t slices)
    : codes_(codes), slices_(slices), counts_(static_cast<size_t>(codes * slices), 0) {
  check(codes > 0 && slices > 0, "[code usage] {} codes in {} slices, expected some", codes,
        slices);
}

void CodeUsage::add(const Tensor& codes) {
  check(codes.rank() == 2 && codes.dim(1) == slices_,
        "[code usage] codes is {}, expected rows of {}", codes.shape(), slices_);
  for (int64_t i = 0; i < codes.size(); ++i) {
    const int64_t code = codes.data<int32_t>()[i];
    check(code >= 0 && code < codes_, "[code usage] a code is {}, expected 0 to {}", code,
          codes_ - 1);
    ++counts_[static_cast<size_t>(i % slices_ * codes_ + code)];
  }
}

double CodeUsage::share() const {
  const auto used = std::count_if(counts_.begin(), counts_.end(), [](int64_t n) { return n > 0; });
  return static_cast<double>(used) / static_cast<double>(counts_.size());
}

double CodeUsage::perplexity() const {
  int64_t latents = 0;
  for (int64_t code = 0; code < codes_; ++code) {
    latents += counts_[static_cast<size_t>(code)];
  }
  double entropies = 0.0;
  for (const int64_t count : counts_) {
    if (count > 0) {
      const double p = static_cast<double>(count) / static_cast<double>(latents);
      entropies -= p * std::log(p);
    }
  }
  return std::exp(entropies / static_cast<double>(slices_));
}

}  // namespace heed
