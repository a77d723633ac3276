// The largest or the average element under each window.
#pragma once

#include "kernels/indexing/im2col.h"

namespace heed::kernels {

struct Pool {
  Windows windows;
  bool largest = true;         // else the average
  bool count_padding = false;  // the average divides by the size of the window, edge or not
  DType dtype;
  const void* x;
  void* y;                 // [batch, out_h, out_w, channels]
  int32_t* tap = nullptr;  // laid out as y: which tap was the largest; null if not wanted
};
void pool(const Pool& args);

struct PoolBackward {
  Windows windows;
  bool largest = true;
  bool count_padding = false;
  In dy;
  const int32_t* tap = nullptr;  // from pool, where largest
  Out dx;
  bool accumulate = false;
};
// Each element of dx sums its windows in order: the same for any number of threads.
void pool_backward(const PoolBackward& args);

}  // namespace heed::kernels
