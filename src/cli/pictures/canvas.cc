#include "cli/pictures/canvas.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/pictures/bitmap_font.h"
#include "cli/pictures/label.h"
#include "text/unicode_class.h"

namespace heed::cli {
namespace {

constexpr std::array<Rgb, 7> kRamp{{{0xFF, 0xFF, 0xFF},
                                    {0xC4, 0xE6, 0xCE},
                                    {0x7F, 0xCA, 0xB4},
                                    {0x3E, 0xA5, 0xA9},
                                    {0x2A, 0x76, 0x99},
                                    {0x36, 0x47, 0x80},
                                    {0x33, 0x0C, 0x4E}}};
constexpr int kShades = 64;  // of an SVG, which groups cells of the same colour
constexpr Rgb kInk{0x24, 0x29, 0x2F};
constexpr Rgb kQuiet{0x6A, 0x73, 0x7D};
constexpr Rgb kFrame{0xC4, 0xCA, 0xD0};
constexpr Rgb kFaint{0xA9, 0xB2, 0xBB};
constexpr std::string_view kSpaceMark = "▁";

std::string hex(Rgb colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

std::string escape_with_marks(const std::string& text) {
  std::string escaped = escape_xml(text);
  const std::string faint = fmt::format("<tspan fill=\"{}\">{}</tspan>", hex(kFaint), kSpaceMark);
  for (size_t at = escaped.find(kSpaceMark); at != std::string::npos;
       at = escaped.find(kSpaceMark, at + faint.size())) {
    escaped.replace(at, kSpaceMark.size(), faint);
  }
  return escaped;
}

int glyph_pixels(TextStyle::Size size) {  // of the side of one dot of the font
  return size == TextStyle::Size::kNormal ? kPixelsPerUnit : kPixelsPerUnit * 3 / 2;
}

int text_pixels(std::string_view text, TextStyle::Size size) {
  return static_cast<int>(to_code_points(text).size()) * kGlyphAdvance * glyph_pixels(size);
}

int shade_of(float weight) {
  return static_cast<int>(std::lround(std::clamp(weight, 0.0F, 1.0F) * (kShades - 1)));
}

}  // namespace

Rgb weight_colour(float weight) {
  const float at = std::clamp(weight, 0.0F, 1.0F) * static_cast<float>(kRamp.size() - 1);
  const size_t low = std::min(static_cast<size_t>(at), kRamp.size() - 2);
  const float part = at - static_cast<float>(low);
  Rgb colour;
  for (size_t i = 0; i < colour.size(); ++i) {
    const auto from = static_cast<float>(kRamp[low][i]);
    const auto to = static_cast<float>(kRamp[low + 1][i]);
    colour[i] = static_cast<uint8_t>(std::lround(from + (to - from) * part));
  }
  return colour;
}

int text_width(std::string_view text, TextStyle::Size size) {
  return (text_pixels(text, size) + kPixelsPerUnit - 1) / kPixelsPerUnit;
}

SvgCanvas::SvgCanvas(int width, int height, const std::string& title) {
  constexpr double kScale = 1.5;
  svg_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{2}\" "
      "height=\"{3}\" role=\"img\" shape-rendering=\"crispEdges\" font-family=\"system-ui, "
      "-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n"
      "<title>{4}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height, width * kScale, height * kScale, escape_xml(title));
}

void SvgCanvas::fill(const Box& box, Rgb colour) {
  svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", box.x,
                      box.y, box.width, box.height, hex(colour));
}

void SvgCanvas::frame(const Box& box) {
  svg_ += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\" "
      "shape-rendering=\"auto\"/>\n",
      box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1, hex(kFrame));
}

void SvgCanvas::text(int x, int y, const std::string& content, const TextStyle& style) {
  constexpr std::array kAnchors{"start", "middle", "end"};
  const bool large = style.size == TextStyle::Size::kLarge;
  svg_ += fmt::format(
      "<text x=\"{}\" y=\"{}\" dy=\"0.35em\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}{}>"
      "{}</text>\n",
      x, y, large ? 14 : 10, kAnchors[static_cast<size_t>(style.anchor)],
      hex(style.quiet ? kQuiet : kInk), large ? " font-weight=\"600\"" : "",
      style.upwards ? fmt::format(" transform=\"rotate(-90 {} {})\"", x, y) : "",
      escape_with_marks(content));
}

void SvgCanvas::heatmap(const Heatmap& map) {
  const Box& cell = map.cell;
  const auto rows = static_cast<int>(static_cast<int64_t>(map.weights.size()) / map.columns);
  const auto columns = static_cast<int>(map.columns);
  fill({cell.x, cell.y, columns * cell.width, rows * cell.height}, weight_colour(0.0F));
  std::map<int, std::string> paths;  // by shade; neighbours of a row that share it are one box
  for (int row = 0; row < rows; ++row) {
    const std::span<const float> weights =
        map.weights.subspan(static_cast<size_t>(row) * map.columns, columns);
    for (int from = 0, to = 0; from < columns; from = to) {
      const int shade = shade_of(weights[from]);
      while (to < columns && shade_of(weights[to]) == shade) {
        ++to;
      }
      if (shade > 0) {
        const int width = (to - from) * cell.width;
        paths[shade] += fmt::format("M{} {}h{}v{}h{}z", cell.x + from * cell.width,
                                    cell.y + row * cell.height, width, cell.height, -width);
      }
    }
  }
  for (const auto& [shade, path] : paths) {
    const float weight = static_cast<float>(shade) / (kShades - 1);
    svg_ += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex(weight_colour(weight)), path);
  }
}

PixelCanvas::PixelCanvas(int width, int height) {
  image_.width = width * kPixelsPerUnit;
  image_.height = height * kPixelsPerUnit;
  image_.pixels.assign(static_cast<size_t>(image_.width * image_.height * image_.channels), 0xFF);
}

void PixelCanvas::fill_pixels(const Box& pixels, Rgb colour) {
  const int64_t left = std::max(pixels.x, 0);
  const int64_t right = std::min<int64_t>(pixels.x + pixels.width, image_.width);
  const int64_t top = std::max(pixels.y, 0);
  const int64_t bottom = std::min<int64_t>(pixels.y + pixels.height, image_.height);
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = left; x < right; ++x) {
      std::copy(colour.begin(), colour.end(),
                image_.pixels.begin() + (y * image_.width + x) * image_.channels);
    }
  }
}

void PixelCanvas::fill(const Box& box, Rgb colour) {
  fill_pixels({box.x * kPixelsPerUnit, box.y * kPixelsPerUnit, box.width * kPixelsPerUnit,
               box.height * kPixelsPerUnit},
              colour);
}

void PixelCanvas::frame(const Box& box) {
  const int left = box.x * kPixelsPerUnit - 1;
  const int top = box.y * kPixelsPerUnit - 1;
  const int width = box.width * kPixelsPerUnit + 2;
  const int height = box.height * kPixelsPerUnit + 2;
  fill_pixels({left, top, width, 1}, kFrame);
  fill_pixels({left, top + height - 1, width, 1}, kFrame);
  fill_pixels({left, top, 1, height}, kFrame);
  fill_pixels({left + width - 1, top, 1, height}, kFrame);
}

void PixelCanvas::text(int x, int y, const std::string& content, const TextStyle& style) {
  const int dot = glyph_pixels(style.size);
  const int length = text_pixels(content, style.size) - dot;  // without the last letter's gap
  const int before = style.anchor == TextEnd::kStart    ? 0
                     : style.anchor == TextEnd::kMiddle ? length / 2
                                                        : length;
  // The middle of capitals, three and a half dots above the baseline, is the middle of the line.
  const int above = (2 * kGlyphBaseline - 7) * dot / 2;
  int along = -before;
  for (const char32_t letter : to_code_points(content)) {
    const Glyph glyph = glyph_of(letter);
    const Rgb colour = letter == U'\u2581' ? kFaint : style.quiet ? kQuiet : kInk;
    for (int row = 0; row < kGlyphHeight; ++row) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        if ((glyph[row] >> (kGlyphWidth - 1 - column) & 1U) == 0) {
          continue;
        }
        const int forth = along + column * dot;
        const int down = row * dot - above;
        const Box ink =
            style.upwards
                ? Box{x * kPixelsPerUnit + down, y * kPixelsPerUnit - forth - dot, dot, dot}
                : Box{x * kPixelsPerUnit + forth, y * kPixelsPerUnit + down, dot, dot};
        fill_pixels(ink, colour);
      }
    }
    along += kGlyphAdvance * dot;
  }
}

void PixelCanvas::heatmap(const Heatmap& map) {
  const Box& cell = map.cell;
  for (size_t i = 0; i < map.weights.size(); ++i) {
    const auto row = static_cast<int>(static_cast<int64_t>(i) / map.columns);
    const auto column = static_cast<int>(static_cast<int64_t>(i) % map.columns);
    fill({cell.x + column * cell.width, cell.y + row * cell.height, cell.width, cell.height},
         weight_colour(map.weights[i]));
  }
}

}  // namespace heed::cli
