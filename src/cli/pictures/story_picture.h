// What a model looked at to answer a question about a story: a row for each fact and for the
// question, a column for each hop or layer, and how long each was thought about. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace heed::cli {

struct StoryColumn {
  std::string name;           // "hop 1"
  std::vector<float> shares;  // of the rows, from 0 to 1
};

struct StoryDrawing {
  std::string title;              // the answer
  std::vector<std::string> rows;  // the facts, oldest first, and perhaps the question
  std::vector<StoryColumn> columns;
  std::vector<float> steps = {};  // of each row; empty: the model does not halt by itself
};

std::string render_story_svg(const StoryDrawing& drawing);
std::string render_story_png(const StoryDrawing& drawing);

}  // namespace heed::cli
