// A small bitmap font of Heed's own for labels in pixel images: ASCII, the letters of Western
// Europe and common punctuation. Pure functions.
#pragma once

#include <array>
#include <cstdint>

namespace heed::cli {

// Rows from the top: two for accents on capitals, seven above the baseline, two below it.
inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 11;
inline constexpr int kGlyphBaseline = 9;  // the first row below it
inline constexpr int kGlyphAdvance = 6;

// Each row's ink; the leftmost pixel is bit 4.
using Glyph = std::array<uint8_t, kGlyphHeight>;

// A box if the font lacks the letter.
Glyph glyph_of(char32_t letter);

}  // namespace heed::cli
