#include "kernels/image/non_local_means.h"

#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

struct Case {
  int64_t height, width, channels, patch, search;
};

// By the definition, a pixel at a time.
std::vector<double> reference(const kernels::NonLocalMeans& args, const Buffer& planes) {
  const int64_t stride = args.width + 2 * args.border;
  const int64_t plane = (args.height + 2 * args.border) * stride;
  const auto pixel = [&](int64_t c, int64_t y, int64_t x) {
    return planes.get(c * plane + (y + args.border) * stride + x + args.border);
  };
  const auto distance = [&](int64_t y, int64_t x, int64_t v, int64_t u) {
    double sum = 0.0;
    for (int64_t c = 0; c < args.channels; ++c) {
      for (int64_t dy = -args.patch; dy <= args.patch; ++dy) {
        for (int64_t dx = -args.patch; dx <= args.patch; ++dx) {
          const double d = pixel(c, y + dy, x + dx) - pixel(c, v + dy, u + dx);
          sum += d * d;
        }
      }
    }
    return sum;
  };
  std::vector<double> out(static_cast<size_t>(args.channels * args.height * args.width));
  for (int64_t y = 0; y < args.height; ++y) {
    for (int64_t x = 0; x < args.width; ++x) {
      std::vector<double> sums(static_cast<size_t>(args.channels), 0.0);
      double total = 0.0;
      double most = 1e-30;
      const auto add = [&](double weight, int64_t v, int64_t u) {
        total += weight;
        for (int64_t c = 0; c < args.channels; ++c) {
          sums[static_cast<size_t>(c)] += weight * pixel(c, v, u);
        }
      };
      for (int64_t v = y - args.search; v <= y + args.search; ++v) {
        for (int64_t u = x - args.search; u <= x + args.search; ++u) {
          if (v != y || u != x) {
            const double beyond =
                std::max(distance(y, x, v, u) - static_cast<double>(args.free), 0.0);
            const double weight = std::exp(-beyond * static_cast<double>(args.decay));
            most = std::max(most, weight);
            add(weight, v, u);
          }
        }
      }
      add(most, y, x);
      for (int64_t c = 0; c < args.channels; ++c) {
        out[static_cast<size_t>((c * args.height + y) * args.width + x)] =
            sums[static_cast<size_t>(c)] / total;
      }
    }
  }
  return out;
}

TEST(NonLocalMeans, EveryIsaAndSize) {
  for_each_isa([] {
    for (const Case& c : {Case{5, 1, 1, 1, 2}, Case{9, 21, 1, 2, 3}, Case{7, 37, 3, 1, 2},
                          Case{3, 17, 3, 0, 4}, Case{11, 16, 1, 3, 1}}) {
      SCOPED_TRACE(::testing::Message() << c.height << " x " << c.width << " x " << c.channels);
      const int64_t border = c.patch + c.search;
      const int64_t area = (c.height + 2 * border) * (c.width + 2 * border);
      Buffer planes = Buffer(c.channels * area, DType::f32, 3).fill(5, 40.0, 128.0);
      for (int64_t i = 0; i < planes.size(); ++i) {
        planes.set(i, std::clamp(std::round(planes.get(i)), 0.0, 255.0));
      }
      Buffer out(c.channels * c.height * c.width, DType::f32, 1);
      const auto summed = static_cast<float>((2 * c.patch + 1) * (2 * c.patch + 1) * c.channels);
      const kernels::NonLocalMeans args{.planes = planes.data<float>(),
                                        .height = c.height,
                                        .width = c.width,
                                        .channels = c.channels,
                                        .border = border,
                                        .patch = c.patch,
                                        .search = c.search,
                                        .free = 400.0F * summed,
                                        .decay = 1.0F / (900.0F * summed),
                                        .out = out.data<float>()};
      kernels::non_local_means(args, 0, c.height);
      expect_close(out, reference(args, planes), {.absolute = 1e-4, .relative = 1e-5});

      // Bands do not show.
      const std::vector<double> whole = out.values();
      for (int64_t y = 0; y < c.height; y += 2) {
        kernels::non_local_means(args, y, std::min(y + 2, c.height));
      }
      EXPECT_EQ(out.values(), whole);
    }
  });
}

}  // namespace
}  // namespace heed::testing
