#include "kernels/image/window_distance.h"

#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

// Two channels of an image, windows of 5 x 5 of which every third pixel is known.
TEST(WindowDistance, EveryPlace) {
  constexpr int64_t kHeight = 23;
  for_each_isa([] {
    for (const int64_t columns : {1, 7, 16, 33, 70, 300}) {
      SCOPED_TRACE(columns);
      const int64_t width = columns + 4;
      const int64_t rows = kHeight - 4;
      const Buffer image = Buffer(2 * kHeight * width, DType::f32, 3).fill(17, 0.3, 0.5);
      std::vector<kernels::WindowTap> taps;
      for (int64_t i = 0; i < 25; i += 3) {
        for (int64_t channel = 0; channel < 2; ++channel) {
          taps.push_back({.offset = channel * kHeight * width + i / 5 * width + i % 5,
                          .weight = 1.0F / static_cast<float>(i + 1),
                          .value = static_cast<float>(i + channel) / 26.0F});
        }
      }
      Buffer distance(rows * columns, DType::f32, 1);
      kernels::window_distance({.image = static_cast<const float*>(image.raw()),
                                .stride = width,
                                .rows = rows,
                                .columns = columns,
                                .taps = taps.data(),
                                .count = std::ssize(taps),
                                .distance = distance.data<float>()});
      std::vector<double> expected;
      for (int64_t place = 0; place < rows * columns; ++place) {
        double sum = 0.0;
        for (const kernels::WindowTap& tap : taps) {
          const double d = image.get(place / columns * width + place % columns + tap.offset) -
                           static_cast<double>(tap.value);
          sum += static_cast<double>(tap.weight) * d * d;
        }
        expected.push_back(sum);
      }
      expect_close(distance, expected);
    }
  });
}

}  // namespace
}  // namespace heed::testing
