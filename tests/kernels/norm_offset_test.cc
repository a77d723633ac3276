// Layer norm of rows whose mean is large against their spread.
#include <gtest/gtest.h>

#include "kernels/reduction/norm.h"
#include "kernels/reference/reference.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

TEST(Norm, LargeMean) {
  for_each_isa([] {
    for (const int64_t width : {7, 16, 17, 33, 100, 520, 1000}) {
      SCOPED_TRACE(width);
      const Buffer x = Buffer(width).fill(5, 1.0, 1000.0);
      Buffer y(width);
      kernels::norm({.rows = 1, .width = width, .dtype = DType::f32, .x = x.raw(), .y = y.raw()});
      // An element is known to 3e-5 here.
      expect_close(y, reference::norm<double>(x.values(), {}, {}, width, 1e-5, false),
                   {.absolute = 2e-4, .relative = 1e-5});
    }
  });
}

}  // namespace
}  // namespace heed::testing
