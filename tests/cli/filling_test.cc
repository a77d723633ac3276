// How a translation fills in, as text and as a picture.
#include "cli/pictures/filling.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed::cli {
namespace {

const Passes kRefined{{"▁A", "", "x"}, {"▁A", "b&", "y", ""}, {"▁A", "b&", "y", "."}};

TEST(Filling, StatesOfPieces) {
  EXPECT_EQ(state_of(kRefined, 0, 0), PieceState::fresh);
  EXPECT_EQ(state_of(kRefined, 0, 1), PieceState::open);
  EXPECT_EQ(state_of(kRefined, 1, 0), PieceState::kept);
  EXPECT_EQ(state_of(kRefined, 1, 1), PieceState::fresh);
  EXPECT_EQ(state_of(kRefined, 1, 2), PieceState::changed);
  EXPECT_EQ(state_of(kRefined, 1, 3), PieceState::open);
  EXPECT_EQ(state_of(kRefined, 2, 3), PieceState::fresh);
}

TEST(Filling, Text) {
  EXPECT_EQ(filling_text(kRefined), "1\t▁A _ x\n2\t▁A b& y _\n3\t▁A b& y .\n");
  EXPECT_EQ(filling_text({{"\n"}}), "1\t\\n\n");
  EXPECT_EQ(filling_text({}), "");
}

TEST(Filling, Picture) {
  const std::vector<FilledText> texts{{"refine", kRefined}, {"one <pass>", {{"▁A", "b"}}}};
  const std::string svg = render_filling("a source", texts);
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* text : {"a source", "refine: 3 passes", "one &lt;pass&gt;: 1 pass<", ">b&amp;<",
                           ">new<", ">changed<", ">kept<", ">open<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  heed::testing::expect_error([] { render_filling("a", {}); },
                              "[filling] there is no translation to draw, expected at least one");
}

}  // namespace
}  // namespace heed::cli
