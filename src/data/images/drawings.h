// Images drawn by rules, to learn from and to denoise where no data is at hand. A drawing is a
// function of its seed and index alone. Every function may be called from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "formats/png.h"

namespace heed {

inline constexpr int64_t kDigitSide = 28;
inline constexpr int64_t kShapeSide = 32;
inline constexpr std::array<std::string_view, 5> kShapeNames = {"disc", "square", "triangle",
                                                                "cross", "stripes"};

struct Drawing {
  Image image;
  int32_t label = 0;
};

// 28 x 28, grey, light on black as in MNIST: a digit of pen strokes with a slant, size, place,
// width and wobble of its own. The label is the digit.
Drawing draw_digit(uint64_t seed, uint64_t index);

// 32 x 32, RGB: two or four shapes of one kind, each the mirror image of its neighbours. So the
// left half is the right one mirrored, and with four also the upper half the lower one. The label
// is a place in kShapeNames.
Drawing draw_shape(uint64_t seed, uint64_t index);

struct Photograph {
  int64_t side = 512;
  int64_t channels = 3;  // or 1
  uint64_t seed = 1;
};
// What photographs are made of: a sky, hills of fractal noise, a brick wall, a fence, shaded balls,
// small print. The same scene at every size.
Image draw_photograph(const Photograph& options);

}  // namespace heed
