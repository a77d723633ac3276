#include "cli/pictures/story_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/pictures/canvas.h"
#include "cli/pictures/label.h"

namespace heed::cli {
namespace {

constexpr int kStoryMargin = 16;
constexpr int kStoryRow = 16;
constexpr int kStoryCell = 44;
constexpr int kStoryTop = 56;   // title and the columns' names
constexpr int kStoryStep = 10;  // width of one step of pondering
constexpr size_t kStoryLetters = 72;

class StoryPicture {
 public:
  explicit StoryPicture(const StoryDrawing& drawing) : drawing_(drawing) {
    check(!drawing.rows.empty(), "[story] there is no sentence to draw");
    for (const StoryColumn& column : drawing.columns) {
      check(column.shares.size() == drawing.rows.size(),
            "[story] {} has {} shares, but there are {} sentences", column.name,
            column.shares.size(), drawing.rows.size());
    }
    check(drawing.steps.empty() || drawing.steps.size() == drawing.rows.size(),
          "[story] {} sentences have steps, but there are {}", drawing.steps.size(),
          drawing.rows.size());
    for (const std::string& row : drawing.rows) {
      labels_.push_back(shortened(printable(row), kStoryLetters));
      left_ = std::max(left_, text_width(labels_.back()));
    }
    left_ += kStoryMargin + 8;
    steps_left_ = left_ + static_cast<int>(drawing.columns.size()) * kStoryCell + 16;
  }

  int width() const {
    const int steps = drawing_.steps.empty() ? 0 : most_steps() * kStoryStep + 40;
    return std::max(steps_left_ + steps,
                    text_width(title(), TextStyle::Size::kLarge) + 2 * kStoryMargin) +
           kStoryMargin;
  }
  int height() const { return kStoryTop + rows() * kStoryRow + kStoryMargin; }
  std::string title() const { return shortened(printable(drawing_.title), kStoryLetters); }

  void draw(Canvas& canvas) const {
    canvas.text(kStoryMargin, 18, title(), {.size = TextStyle::Size::kLarge});
    for (int row = 0; row < rows(); ++row) {
      canvas.text(left_ - 8, middle(row), labels_[static_cast<size_t>(row)],
                  {.anchor = TextEnd::kEnd});
    }
    int x = left_;
    for (const StoryColumn& column : drawing_.columns) {
      canvas.text(x + kStoryCell / 2, kStoryTop - 10, column.name,
                  {.anchor = TextEnd::kMiddle, .quiet = true});
      canvas.heatmap({{x, kStoryTop, kStoryCell, kStoryRow}, column.shares, 1});
      canvas.frame({x, kStoryTop, kStoryCell, rows() * kStoryRow});
      x += kStoryCell;
    }
    draw_steps(canvas);
  }

 private:
  int rows() const { return static_cast<int>(drawing_.rows.size()); }
  int middle(int row) const { return kStoryTop + row * kStoryRow + kStoryRow / 2; }
  int most_steps() const {
    const auto most = std::max_element(drawing_.steps.begin(), drawing_.steps.end());
    return std::max(4, static_cast<int>(*most));
  }

  // A bar for each sentence, as long as it was thought about.
  void draw_steps(Canvas& canvas) const {
    if (drawing_.steps.empty()) {
      return;
    }
    canvas.text(steps_left_, kStoryTop - 10, "steps", {.quiet = true});
    for (int row = 0; row < rows(); ++row) {
      const float steps = drawing_.steps[static_cast<size_t>(row)];
      const int length = static_cast<int>(steps * kStoryStep);
      canvas.fill({steps_left_, kStoryTop + row * kStoryRow + 4, length, kStoryRow - 8},
                  weight_colour(0.5F));
      canvas.text(steps_left_ + length + 6, middle(row), fmt::format("{:.0f}", steps),
                  {.quiet = true});
    }
  }

  const StoryDrawing& drawing_;
  std::vector<std::string> labels_;
  int left_ = 0;
  int steps_left_ = 0;
};

}  // namespace

std::string render_story_svg(const StoryDrawing& drawing) {
  const StoryPicture picture(drawing);
  SvgCanvas canvas(picture.width(), picture.height(), picture.title());
  picture.draw(canvas);
  return canvas.finish();
}

std::string render_story_png(const StoryDrawing& drawing) {
  const StoryPicture picture(drawing);
  PixelCanvas canvas(picture.width(), picture.height());
  picture.draw(canvas);
  return encode_png(canvas.image());
}

}  // namespace heed::cli
