#include "kernels/image/non_local_means.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/non_local_means.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/scratch.h"
#include "kernels/math-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

constexpr float kLeastExponent = -80.0F;

// One offset at a time over the whole band: the patches' distances at neighbouring pixels share
// their squares, so a column's sum moves down by adding a row and taking one off.
class NonLocalBand {
 public:
  NonLocalBand(const kernels::NonLocalMeans& args, int64_t begin, int64_t end)
      : args_(args),
        begin_(begin),
        end_(end),
        stride_(args.width + 2 * args.border),
        plane_((args.height + 2 * args.border) * stride_) {
    thread_local Scratch scratch;
    const int64_t band = (end - begin) * args.width;
    const int64_t columns = args.width + 2 * args.patch;
    float* memory = scratch.get<float>(static_cast<size_t>(band * 2 + columns));
    weights_ = memory;
    largest_ = memory + band;
    columns_ = memory + 2 * band;
    std::fill(memory, memory + 2 * band, 0.0F);
    for (int64_t c = 0; c < args.channels; ++c) {
      float* out = out_row(c, begin);
      std::fill(out, out + band, 0.0F);
    }
  }

  void run() {
    for (int64_t dy = -args_.search; dy <= args_.search; ++dy) {
      for (int64_t dx = -args_.search; dx <= args_.search; ++dx) {
        if (dy != 0 || dx != 0) {
          add_offset(dy * stride_ + dx);
        }
      }
    }
    finish();
  }

 private:
  const float* row(int64_t channel, int64_t y) const {
    return args_.planes + channel * plane_ + (y + args_.border) * stride_ + args_.border;
  }
  float* out_row(int64_t channel, int64_t y) const {
    return args_.out + (channel * args_.height + y) * args_.width;
  }

  template <bool kAdd>
  void move_columns(int64_t y, int64_t offset) {
    const size_t n = static_cast<size_t>(args_.width + 2 * args_.patch);
    for (int64_t c = 0; c < args_.channels; ++c) {
      const float* here = row(c, y) - args_.patch;
      map(
          n, columns_,
          [](FloatVec sum, FloatVec a, FloatVec b) {
            const FloatVec d = hn::Sub(a, b);
            return kAdd ? hn::MulAdd(d, d, sum) : hn::NegMulAdd(d, d, sum);
          },
          columns_, here, here + offset);
    }
  }

  void add_offset(int64_t offset) {
    std::fill(columns_, columns_ + args_.width + 2 * args_.patch, 0.0F);
    for (int64_t y = begin_ - args_.patch; y < begin_ + args_.patch; ++y) {
      move_columns<true>(y, offset);
    }
    for (int64_t y = begin_; y < end_; ++y) {
      move_columns<true>(y + args_.patch, offset);
      add_row(y, offset);
      move_columns<false>(y - args_.patch, offset);
    }
  }

  void add_row(int64_t y, int64_t offset) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
    int64_t x = 0;
    for (; x + lanes <= args_.width; x += lanes) {
      add_pixels(
          y, x, offset, [](const float* p) { return load(p); },
          [](FloatVec v, float* p) { store(v, p); });
    }
    if (x < args_.width) {
      const size_t n = static_cast<size_t>(args_.width - x);
      add_pixels(
          y, x, offset, [n](const float* p) { return load_n(p, n); },
          [n](FloatVec v, float* p) { store_n(v, p, n); });
    }
  }

  template <typename Load, typename Store>
  HWY_INLINE void add_pixels(int64_t y, int64_t x, int64_t offset, const Load& get,
                             const Store& put) {
    FloatVec distance = get(columns_ + x);
    for (int64_t k = 1; k <= 2 * args_.patch; ++k) {
      distance = hn::Add(distance, get(columns_ + x + k));
    }
    const FloatVec beyond = hn::Max(hn::Sub(distance, set(args_.free)), zero());
    const FloatVec exponent = hn::Mul(beyond, set(-args_.decay));
    // Subnormal numbers would be slow, and never count.
    const FloatVec weight =
        hn::IfThenElseZero(hn::Gt(exponent, set(kLeastExponent)), hn::Exp(FloatTag(), exponent));
    const int64_t at = (y - begin_) * args_.width + x;
    put(hn::Add(get(weights_ + at), weight), weights_ + at);
    put(hn::Max(get(largest_ + at), weight), largest_ + at);
    for (int64_t c = 0; c < args_.channels; ++c) {
      float* out = out_row(c, y) + x;
      put(hn::MulAdd(weight, get(row(c, y) + x + offset), get(out)), out);
    }
  }

  // A pixel itself counts as much as the pixel most like it: its own distance of zero would say
  // nothing but that it has its own noise.
  void finish() {
    const size_t n = static_cast<size_t>(args_.width);
    for (int64_t y = begin_; y < end_; ++y) {
      const float* weights = weights_ + (y - begin_) * args_.width;
      const float* largest = largest_ + (y - begin_) * args_.width;
      const FloatVec tiny = set(1e-30F);
      for (int64_t c = 0; c < args_.channels; ++c) {
        float* out = out_row(c, y);
        map(
            n, out,
            [&](FloatVec sum, FloatVec self, FloatVec weight, FloatVec most) {
              const FloatVec own = hn::Max(most, tiny);  // alone, if nothing is like it
              return hn::Div(hn::MulAdd(own, self, sum), hn::Add(own, weight));
            },
            out, row(c, y), weights, largest);
      }
    }
  }

  const kernels::NonLocalMeans& args_;
  int64_t begin_, end_;
  int64_t stride_, plane_;
  float* weights_;  // [end - begin, width]: their sum
  float* largest_;  // [end - begin, width]: the largest of them
  float* columns_;  // [width + 2 patch]: sums of squares over a patch's rows
};

void non_local_band(const kernels::NonLocalMeans& args, int64_t begin, int64_t end) {
  NonLocalBand(args, begin, end).run();
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(non_local_band);

namespace kernels {

void non_local_means(const NonLocalMeans& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(heed::non_local_band)(args, begin, end);
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
