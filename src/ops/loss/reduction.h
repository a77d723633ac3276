// How a loss turns the values of its elements into one.
#pragma once

namespace heed {

enum class Reduction {
  none,
  mean,  // over all elements that count
  sum,
  batch_mean,  // the sum divided by the first extent
};

}  // namespace heed
