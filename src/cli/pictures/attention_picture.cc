// The static pictures: what is drawn where, on either kind of canvas.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/pictures/attention_page.h"
#include "cli/pictures/canvas.h"
#include "cli/pictures/label.h"

namespace heed::cli {
namespace {

// All in units.
constexpr int kMargin = 16;
constexpr int kLine = 16;
constexpr int kTop = kMargin + 2 * kLine + 12;  // below the title and what it says
constexpr int kGap = 6;
constexpr int kBarWidth = 96;
constexpr int kBarHeight = 8;
constexpr int kFooter = 40;
constexpr size_t kLabelLetters = 20;
constexpr size_t kTitleLetters = 90;
constexpr int64_t kMaxPixels = int64_t{1} << 26;

struct Panel {
  const AttentionMap* map = nullptr;
  size_t head = 0;
};

// The panels of one kind: a row for each layer, a column for each head.
struct Grid {
  std::string kind;
  std::vector<std::vector<Panel>> layers;
};

struct Extent {
  int width = 0;
  int height = 0;
};

std::vector<Grid> select(const AttentionDrawing& drawing, const AttentionSelection& selection) {
  std::vector<Grid> grids;
  for (const char* kind : {"encoder", "decoder", "cross", "hops"}) {
    Grid grid{kind, {}};
    for (const AttentionMap& map : drawing.maps) {
      if (map.kind != kind || (selection.kind && *selection.kind != kind) ||
          (selection.layer && *selection.layer != map.layer)) {
        continue;
      }
      std::vector<Panel> row;
      for (size_t head = 0; head < map.heads.size(); ++head) {
        if (!selection.head || *selection.head == static_cast<int64_t>(head)) {
          row.push_back({&map, head});
        }
      }
      if (!row.empty()) {
        grid.layers.push_back(std::move(row));
      }
    }
    std::sort(grid.layers.begin(), grid.layers.end(),
              [](const auto& a, const auto& b) { return a[0].map->layer < b[0].map->layer; });
    if (!grid.layers.empty()) {
      grids.push_back(std::move(grid));
    }
  }
  return grids;
}

std::string kind_text(const std::string& kind) {
  return kind == "encoder"   ? "Encoder self-attention: source words (rows) to source words"
         : kind == "decoder" ? "Decoder self-attention: target words (rows) to target words"
         : kind == "hops"    ? "Hops of attention (rows) over the words of the text"
                             : "Cross-attention: target words (rows) to source words";
}

std::vector<std::string> labels_of(const std::vector<std::string>& tokens) {
  std::vector<std::string> labels;
  labels.reserve(tokens.size());
  for (const std::string& token : tokens) {
    labels.push_back(shortened(printable(token), kLabelLetters));
  }
  return labels;
}

int widest(const std::vector<std::string>& labels) {
  int width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, text_width(label));
  }
  return width;
}

// What the two kinds of picture share: a size known beforehand, and drawing.
class Picture {
 public:
  explicit Picture(const std::string& title) : title_(shortened(printable(title), kTitleLetters)) {}
  virtual ~Picture() = default;

  const std::string& title() const { return title_; }
  Extent extent() const {
    const Extent inner = body();
    const int wide =
        std::max({inner.width, text_width(title_, TextStyle::Size::kLarge), text_width(caption())});
    return {wide + 2 * kMargin, kTop + inner.height + kFooter};
  }
  void draw(Canvas& canvas) const {
    const Extent size = extent();
    canvas.text(kMargin, kMargin + kLine / 2, title_, {.size = TextStyle::Size::kLarge});
    canvas.text(kMargin, kMargin + kLine + kLine / 2 + 2, caption(), {.quiet = true});
    draw_body(canvas);
    draw_scale(canvas, size.height - kFooter + 20);
  }

 protected:
  virtual Extent body() const = 0;
  virtual std::string caption() const = 0;
  virtual void draw_body(Canvas& canvas) const = 0;

 private:
  static void draw_scale(Canvas& canvas, int y) {
    std::vector<float> ramp(kBarWidth);
    for (int i = 0; i < kBarWidth; ++i) {
      ramp[i] = static_cast<float>(i) / (kBarWidth - 1);
    }
    const std::string name = "weight 0";
    const int left = kMargin + text_width(name) + 4;
    canvas.text(kMargin, y + kBarHeight / 2, name, {.quiet = true});
    canvas.heatmap({{left, y, 1, kBarHeight}, ramp, kBarWidth});
    canvas.frame({left, y, kBarWidth, kBarHeight});
    canvas.text(left + kBarWidth + 6, y + kBarHeight / 2, "1", {.quiet = true});
  }

  std::string title_;
};

// One map with a token beside every row and above every column.
class LargePicture final : public Picture {
 public:
  LargePicture(const AttentionDrawing& drawing, const Panel& panel)
      : Picture(drawing.title),
        panel_(panel),
        queries_(labels_of(sides_of(drawing, *panel.map).queries)),
        keys_(labels_of(sides_of(drawing, *panel.map).keys)) {
    const size_t longest = std::max(queries_.size(), keys_.size());
    cell_ = longest <= 16 ? 24 : longest <= 32 ? 18 : 12;
    left_ = kMargin + widest(queries_) + kGap;
    top_ = kTop + widest(keys_) + kGap;
  }

 private:
  int columns() const { return static_cast<int>(keys_.size()); }
  int rows() const { return static_cast<int>(queries_.size()); }

  Extent body() const override {
    return {left_ - kMargin + columns() * cell_, top_ - kTop + rows() * cell_};
  }
  std::string caption() const override {
    return fmt::format("{}, layer {}, head {}", kind_text(panel_.map->kind), panel_.map->layer,
                       panel_.head);
  }
  void draw_body(Canvas& canvas) const override {
    canvas.heatmap({{left_, top_, cell_, cell_}, panel_.map->heads[panel_.head], columns()});
    canvas.frame({left_, top_, columns() * cell_, rows() * cell_});
    for (int row = 0; row < rows(); ++row) {
      canvas.text(left_ - kGap, top_ + row * cell_ + cell_ / 2, queries_[row],
                  {.anchor = TextEnd::kEnd});
    }
    for (int column = 0; column < columns(); ++column) {
      canvas.text(left_ + column * cell_ + cell_ / 2, top_ - kGap, keys_[column],
                  {.upwards = true});
    }
  }

  Panel panel_;
  std::vector<std::string> queries_, keys_;
  int cell_ = 0;
  int left_ = 0;
  int top_ = 0;
};

// Every layer and head, small, one kind below the other.
class GridPicture final : public Picture {
 public:
  GridPicture(const AttentionDrawing& drawing, std::vector<Grid> grids)
      : Picture(drawing.title), grids_(std::move(grids)) {
    size_t most = 0;
    for (const Grid& grid : grids_) {
      most = std::max(most, grid.layers[0].size());
    }
    side_ = most <= 4 ? 192 : 96;
  }

 private:
  static constexpr int kLayerWidth = 54;
  static constexpr int kHeading = 2 * kLine + 6;

  int cell_of(const Grid& grid) const {
    const AttentionMap& map = *grid.layers[0][0].map;
    return std::max(1, side_ / static_cast<int>(std::max(map.queries, map.keys)));
  }
  Extent panel_of(const Grid& grid) const {
    const AttentionMap& map = *grid.layers[0][0].map;
    return {static_cast<int>(map.keys) * cell_of(grid),
            static_cast<int>(map.queries) * cell_of(grid)};
  }
  Extent extent_of(const Grid& grid) const {
    const Extent panel = panel_of(grid);
    return {kLayerWidth + static_cast<int>(grid.layers[0].size()) * (panel.width + kGap) - kGap,
            kHeading + static_cast<int>(grid.layers.size()) * (panel.height + kGap)};
  }
  Extent body() const override {
    Extent whole;
    for (const Grid& grid : grids_) {
      const Extent extent = extent_of(grid);
      whole.width = std::max({whole.width, extent.width, text_width(kind_text(grid.kind))});
      whole.height += extent.height + kLine;
    }
    whole.height -= kLine;
    return whole;
  }
  std::string caption() const override {
    return "The weight of each row's word on each column's word";
  }
  void draw_body(Canvas& canvas) const override {
    int y = kTop;
    for (const Grid& grid : grids_) {
      draw_grid(canvas, grid, y);
      y += extent_of(grid).height + kLine;
    }
  }
  void draw_grid(Canvas& canvas, const Grid& grid, int y) const {
    const Extent panel = panel_of(grid);
    const int cell = cell_of(grid);
    canvas.text(kMargin, y + kLine / 2, kind_text(grid.kind), {});
    int top = y + kHeading;
    for (const std::vector<Panel>& layer : grid.layers) {
      canvas.text(kMargin, top + panel.height / 2, fmt::format("layer {}", layer[0].map->layer),
                  {.quiet = true});
      int left = kMargin + kLayerWidth;
      for (const Panel& at : layer) {
        if (&layer == &grid.layers[0]) {
          canvas.text(left + panel.width / 2, top - 9, fmt::format("head {}", at.head),
                      {.anchor = TextEnd::kMiddle, .quiet = true});
        }
        canvas.heatmap({{left, top, cell, cell}, at.map->heads[at.head], at.map->keys});
        canvas.frame({left, top, panel.width, panel.height});
        left += panel.width + kGap;
      }
      top += panel.height + kGap;
    }
  }

  std::vector<Grid> grids_;
  int side_ = 0;
};

std::unique_ptr<Picture> picture_of(const AttentionDrawing& drawing,
                                    const AttentionSelection& selection) {
  check_attention(drawing, selection);
  std::vector<Grid> grids = select(drawing, selection);
  if (grids.size() == 1 && grids[0].layers.size() == 1 && grids[0].layers[0].size() == 1) {
    return std::make_unique<LargePicture>(drawing, grids[0].layers[0][0]);
  }
  return std::make_unique<GridPicture>(drawing, std::move(grids));
}

}  // namespace

std::string render_attention_svg(const AttentionDrawing& drawing,
                                 const AttentionSelection& selection) {
  const std::unique_ptr<Picture> picture = picture_of(drawing, selection);
  const Extent extent = picture->extent();
  SvgCanvas canvas(extent.width, extent.height, picture->title());
  picture->draw(canvas);
  return canvas.finish();
}

std::string render_attention_png(const AttentionDrawing& drawing,
                                 const AttentionSelection& selection) {
  const std::unique_ptr<Picture> picture = picture_of(drawing, selection);
  const Extent extent = picture->extent();
  const int64_t width = int64_t{extent.width} * kPixelsPerUnit;
  const int64_t height = int64_t{extent.height} * kPixelsPerUnit;
  check(width * height <= kMaxPixels,
        "[attention] the picture has {} x {} pixels, expected at most {} in all; choose fewer maps "
        "or write .html",
        width, height, kMaxPixels);
  PixelCanvas canvas(extent.width, extent.height);
  picture->draw(canvas);
  return encode_png(canvas.image());
}

}  // namespace heed::cli
