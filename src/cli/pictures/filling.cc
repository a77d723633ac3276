#include "cli/pictures/filling.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "cli/pictures/canvas.h"
#include "cli/pictures/label.h"

namespace heed::cli {
namespace {

// All in units of the canvas.
constexpr int kEdge = 16;
constexpr int kRow = 20;
constexpr int kBox = 16;      // of a piece in its row
constexpr int kPadding = 10;  // of both sides of a piece together
constexpr int kBetween = 3;
constexpr int kNumbers = 44;  // column of the passes' numbers
constexpr int kHeading = 26;
constexpr int kKeyRow = 30;
constexpr size_t kMostLetters = 16;
constexpr size_t kMostTitle = 100;

// Light enough for letters; they differ in lightness, too.
constexpr std::array<Rgb, 4> kColours{
    {{0xFF, 0xFF, 0xFF}, {0xBF, 0xE0, 0xF2}, {0xF7, 0xC5, 0x9F}, {0xF0, 0xF2, 0xF4}}};
constexpr std::array kNames{"open", "new", "changed", "kept"};

size_t index_of(PieceState state) { return static_cast<size_t>(state); }

std::string shown(const std::string& piece) { return shortened(printable(piece), kMostLetters); }

// How wide the column of each place is.
std::vector<int> widths_of(const Passes& passes) {
  std::vector<int> widths;
  for (const std::vector<std::string>& pieces : passes) {
    widths.resize(std::max(widths.size(), pieces.size()), kBox);
    for (size_t i = 0; i < pieces.size(); ++i) {
      widths[i] = std::max(widths[i], text_width(shown(pieces[i])) + kPadding);
    }
  }
  return widths;
}

void draw_piece(Canvas& canvas, const Box& box, PieceState state, const std::string& text) {
  canvas.fill(box, kColours[index_of(state)]);
  if (state != PieceState::kept) {
    canvas.frame(box);
  }
  canvas.text(box.x + box.width / 2, box.y + box.height / 2, text, {.anchor = TextEnd::kMiddle});
}

void draw_passes(Canvas& canvas, const FilledText& text, int top) {
  const std::vector<int> widths = widths_of(text.passes);
  canvas.text(kEdge, top + kHeading / 2,
              fmt::format("{}: {} {}", text.name, text.passes.size(),
                          text.passes.size() == 1 ? "pass" : "passes"),
              {});
  for (size_t pass = 0; pass < text.passes.size(); ++pass) {
    const int y = top + kHeading + static_cast<int>(pass) * kRow;
    canvas.text(kEdge + kNumbers - 10, y + kBox / 2, fmt::format("{}", pass + 1),
                {.anchor = TextEnd::kEnd, .quiet = true});
    int x = kEdge + kNumbers;
    for (size_t i = 0; i < text.passes[pass].size(); ++i) {
      draw_piece(canvas, {x, y, widths[i], kBox}, state_of(text.passes, pass, i),
                 shown(text.passes[pass][i]));
      x += widths[i] + kBetween;
    }
  }
}

void draw_key(Canvas& canvas, int y) {
  int x = kEdge + kNumbers;
  for (const PieceState state :
       {PieceState::open, PieceState::fresh, PieceState::changed, PieceState::kept}) {
    const char* name = kNames[index_of(state)];
    const int width = text_width(name) + kPadding;
    draw_piece(canvas, {x, y, width, kBox}, state, name);
    x += width + 2 * kBetween;
  }
}

int height_of(const FilledText& text) {
  return kHeading + static_cast<int>(text.passes.size()) * kRow + kRow / 2;
}

}  // namespace

PieceState state_of(const Passes& passes, size_t pass, size_t place) {
  const std::string& piece = passes[pass][place];
  if (piece.empty()) {
    return PieceState::open;
  }
  if (pass == 0 || place >= passes[pass - 1].size() || passes[pass - 1][place].empty()) {
    return PieceState::fresh;
  }
  return passes[pass - 1][place] == piece ? PieceState::kept : PieceState::changed;
}

std::string filling_text(const Passes& passes) {
  std::string text;
  for (size_t pass = 0; pass < passes.size(); ++pass) {
    text += fmt::format("{}\t", pass + 1);
    for (size_t i = 0; i < passes[pass].size(); ++i) {
      const std::string& piece = passes[pass][i];
      text += (i == 0 ? "" : " ") + (piece.empty() ? std::string("_") : printable(piece));
    }
    text += '\n';
  }
  return text;
}

std::string render_filling(const std::string& source, std::span<const FilledText> texts) {
  check(!texts.empty(), "[filling] there is no translation to draw, expected at least one");
  const std::string title = shortened(printable(source), kMostTitle);
  int width = text_width(title, TextStyle::Size::kLarge);
  int height = kEdge + kHeading;
  for (const FilledText& text : texts) {
    int columns = kNumbers;
    for (const int column : widths_of(text.passes)) {
      columns += column + kBetween;
    }
    width = std::max(width, columns);
    height += height_of(text);
  }
  SvgCanvas canvas(width + 2 * kEdge, height + kKeyRow, "How a translation fills in: " + title);
  canvas.text(kEdge, kEdge + kHeading / 2 - 4, title, {.size = TextStyle::Size::kLarge});
  int top = kEdge + kHeading;
  for (const FilledText& text : texts) {
    draw_passes(canvas, text, top);
    top += height_of(text);
  }
  draw_key(canvas, top);
  return canvas.finish();
}

}  // namespace heed::cli
