// What static pictures are drawn on: the same calls make an SVG or a pixel image.
//
// Coordinates are in units of which a letter of ordinary size is six wide; a pixel image has
// kPixelsPerUnit pixels for each. A canvas belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/png.h"

namespace heed::cli {

inline constexpr int kPixelsPerUnit = 2;

using Rgb = std::array<uint8_t, 3>;

// From white at 0 to dark violet at 1, along viridis' hues. Its lightness falls throughout, so it
// reads in grey and with every form of colour blindness.
Rgb weight_colour(float weight);

struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

enum class TextEnd { kStart, kMiddle, kEnd };  // which part of a text stands at its position

struct TextStyle {
  enum class Size { kNormal, kLarge } size = Size::kNormal;
  TextEnd anchor = TextEnd::kStart;
  bool quiet = false;
  bool upwards = false;  // read from the bottom to the top
};

// In units. Exact in pixel images, a fair guess in SVG, whose fonts are not known.
int text_width(std::string_view text, TextStyle::Size size = TextStyle::Size::kNormal);

struct Heatmap {
  Box cell;  // the first one, at the top left
  std::span<const float> weights;
  int64_t columns = 0;
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void fill(const Box& box, Rgb colour) = 0;
  virtual void frame(const Box& box) = 0;  // a thin line just outside
  // x and y are the middle of the line of text in height and its start, middle or end in width;
  // the other way round when it goes upwards. SentencePiece's mark for a space is drawn faintly.
  virtual void text(int x, int y, const std::string& content, const TextStyle& style) = 0;
  virtual void heatmap(const Heatmap& map) = 0;
};

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(int width, int height, const std::string& title);
  void fill(const Box& box, Rgb colour) override;
  void frame(const Box& box) override;
  void text(int x, int y, const std::string& content, const TextStyle& style) override;
  void heatmap(const Heatmap& map) override;
  std::string finish() const { return svg_ + "</svg>\n"; }

 private:
  std::string svg_;
};

class PixelCanvas final : public Canvas {
 public:
  PixelCanvas(int width, int height);
  void fill(const Box& box, Rgb colour) override;
  void frame(const Box& box) override;
  void text(int x, int y, const std::string& content, const TextStyle& style) override;
  void heatmap(const Heatmap& map) override;
  const Image& image() const { return image_; }

 private:
  void fill_pixels(const Box& pixels, Rgb colour);  // what lies outside of the image is left out

  Image image_;
};

}  // namespace heed::cli
