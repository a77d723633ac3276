// Pictures of what a model looked at to answer a question.
#include "cli/pictures/story_picture.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed::cli {
namespace {

using ::heed::testing::expect_error;

StoryDrawing drawing() {
  return {.title = "Where is <Mary>? garden",
          .rows = {"Mary went to the garden.", "John & Fred slept.", "Where is <Mary>?"},
          .columns = {{"layer 1", {0.5F, 0.25F, 0.25F}}, {"layer 2", {1.0F, 0.0F, 0.0F}}},
          .steps = {2.0F, 1.0F, 6.0F}};
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(StoryPicture, NamesSentencesAndHops) {
  const std::string svg = render_story_svg(drawing());
  EXPECT_TRUE(svg.starts_with("<svg")) << svg.substr(0, 40);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "layer 2"), 1U);
  EXPECT_EQ(count(svg, "John &amp; Fred slept."), 1U);
  EXPECT_EQ(count(svg, "<Mary>"), 0U);
  EXPECT_GE(count(svg, ">6<"), 1U);
  EXPECT_TRUE(render_story_png(drawing()).starts_with("\x89PNG"));
}

TEST(StoryPicture, WithoutSteps) {
  StoryDrawing plain = drawing();
  plain.steps.clear();
  EXPECT_EQ(count(render_story_svg(plain), "steps"), 0U);
  EXPECT_EQ(count(render_story_svg(drawing()), "steps"), 1U);
}

TEST(StoryPicture, WhatDoesNotFitIsAnError) {
  StoryDrawing other = drawing();
  other.columns[0].shares.pop_back();
  expect_error([&] { render_story_svg(other); },
               "[story] layer 1 has 2 shares, but there are 3 sentences");
  other = drawing();
  other.steps.pop_back();
  expect_error([&] { render_story_svg(other); }, "[story] 2 sentences have steps, but there are 3");
  expect_error([&] { render_story_svg({.title = "", .rows = {}, .columns = {}}); },
               "[story] there is no sentence to draw");
}

}  // namespace
}  // namespace heed::cli
