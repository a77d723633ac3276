#include "cli/pictures/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "support/error_of.h"

namespace heed::cli {
namespace {

using testing::error_of;

using Points = std::vector<PlotPoint>;

Plot small_plot() {
  return {.title = "a < b & \"c\"",
          .subtitle = "two",
          .dashed_legend = "dashed",
          .panels = {{.title = "left",
                      .x_label = "x",
                      .y_label = "y",
                      .series = {{.name = "one", .points = {{1, 1}, {10, 100}}},
                                 {.name = "one", .points = {{1, 2}, {10, 50}}, .dashed = true}},
                      .marks = {{3, 9}},
                      .notes = {"note"}},
                     {.title = "right",
                      .x_label = "x",
                      .y_label = "y",
                      .series = {{.name = "two", .points = {{5, 5}}}},
                      .marks = {},
                      .notes = {}}}};
}

// Every element is closed, in order, and no bare & is left: what a reader of XML insists on.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const size_t end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /\n", 1));
    ASSERT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
  for (size_t at = xml.find('&'); at != std::string::npos; at = xml.find('&', at + 1)) {
    const std::string entity = xml.substr(at, xml.find(';', at) - at + 1);
    EXPECT_TRUE(entity == "&amp;" || entity == "&lt;" || entity == "&gt;" || entity == "&quot;")
        << entity;
  }
}

TEST(Plot, IsWellFormedAndEscaped) {
  const std::string svg = render_svg(small_plot());
  expect_well_formed(svg);
  EXPECT_EQ(svg.find("<svg xmlns=\"http://www.w3.org/2000/svg\""), 0U);
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_NE(svg.find("stroke-dasharray"), std::string::npos);
  EXPECT_NE(svg.find(">note</text>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, ControlCharactersAreLeftOut) {
  Plot plot = small_plot();
  plot.title = "a\x01z";
  EXPECT_NE(render_svg(plot).find(">a z<"), std::string::npos);
}

TEST(Plot, SaysWhatItCannotDraw) {
  Plot empty = small_plot();
  empty.panels[0].series[0].points.clear();
  EXPECT_EQ(error_of([&] { render_svg(empty); }),
            "[plot] series \"one\" of \"left\" has no points");
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Plot plot = small_plot();
    plot.panels[0].series[0].points[1].y = bad;
    EXPECT_NE(error_of([&] { render_svg(plot); }).find("expected positive numbers on log axes"),
              std::string::npos);
  }
  Plot no_series = small_plot();
  no_series.panels[1].series.clear();
  EXPECT_EQ(error_of([&] { render_svg(no_series); }), "[plot] panel \"right\" has no series");
  EXPECT_EQ(error_of([&] { render_svg({}); }), "[plot] \"\" has no panels");
}

TEST(Plot, TicksAreRoundNumbers) {
  EXPECT_EQ(log_ticks(50, 2500), (std::vector<double>{50, 100, 200, 500, 1000, 2000}));
  EXPECT_EQ(log_ticks(0.5, 20000), (std::vector<double>{1, 10, 100, 1000, 10000}));
  EXPECT_EQ(log_ticks(1.9, 5.1), (std::vector<double>{2, 5}));
  EXPECT_NE(error_of([] { log_ticks(0, 1); }), "no error");
}

// The operations counted for self-attention and an LSTM at dim 1000 meet at length 4000, on a grid
// that misses it.
TEST(Crossings, PowerLawsMeetWhereTheyShould) {
  Points attention, lstm;
  for (const double length : {100.0, 900.0, 3000.0, 7000.0}) {
    attention.push_back({length, 4.0 * length * length * 1e3});
    lstm.push_back({length, 16.0 * length * 1e6});
  }
  const std::vector<Crossing> crossings = find_crossings(attention, lstm);
  ASSERT_EQ(crossings.size(), 1U);
  EXPECT_NEAR(crossings[0].at.x, 4000, 1e-6);
  EXPECT_NEAR(crossings[0].at.y, 6.4e10, 1);
  EXPECT_TRUE(crossings[0].a_below_before);
  EXPECT_FALSE(find_crossings(lstm, attention)[0].a_below_before);

  // Without the last point they meet beyond the grid.
  attention.pop_back();
  lstm.pop_back();
  EXPECT_TRUE(find_crossings(attention, lstm).empty());
  const std::optional<PlotPoint> meeting = extrapolate_crossing(attention, lstm);
  ASSERT_TRUE(meeting.has_value());
  EXPECT_NEAR(meeting->x, 4000, 1e-6);
  EXPECT_NEAR(meeting->y, 6.4e10, 1);
}

TEST(Crossings, SeveralEqualAndNone) {
  const Points flat{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}};
  const auto crossings_of = [&](std::vector<double> y) {
    Points points = flat;
    for (size_t i = 0; i < y.size(); ++i) {
      points[i].y = y[i];
    }
    std::vector<double> at;
    for (const Crossing& crossing : find_crossings(points, flat)) {
      at.push_back(crossing.at.x);
    }
    return at;
  };
  EXPECT_EQ(crossings_of({2, 3, 2, 3, 2}), (std::vector<double>{}));
  EXPECT_EQ(crossings_of({1, 1, 1, 1, 1}), (std::vector<double>{}));
  EXPECT_EQ(crossings_of({2, 1, 2, 2, 2}), (std::vector<double>{}));  // touches
  EXPECT_EQ(crossings_of({2, 1, 0.5, 0.5, 1}), (std::vector<double>{2}));
  EXPECT_EQ(crossings_of({0.5, 1, 1, 2, 2}), (std::vector<double>{2}));
  EXPECT_EQ(crossings_of({2, 0.5, 2, 2, 2}).size(), 2U);
  EXPECT_NEAR(crossings_of({2, 0.5, 0.5, 0.5, 0.5})[0], std::sqrt(2.0), 1e-12);
}

TEST(Crossings, NoneWhereLinesPart) {
  const Points flat{{1, 1}, {10, 1}};
  EXPECT_FALSE(extrapolate_crossing(Points{{1, 2}, {10, 3}}, flat));    // moving apart
  EXPECT_FALSE(extrapolate_crossing(Points{{1, 2}, {10, 2}}, flat));    // parallel
  EXPECT_FALSE(extrapolate_crossing(Points{{1, 9}, {10, 8.9}}, flat));  // too far to tell
  EXPECT_TRUE(extrapolate_crossing(Points{{1, 9}, {10, 2}}, flat));
  EXPECT_NE(error_of([&] { find_crossings(flat, Points{{1, 1}}); }), "no error");
  EXPECT_NE(error_of([&] { find_crossings(flat, Points{{1, 1}, {11, 1}}); }), "no error");
}

TEST(Plot, NamesBesidePoints) {
  const Plot plot{.title = "t",
                  .subtitle = "s",
                  .panels = {{.title = "p",
                              .x_label = "x",
                              .y_label = "y",
                              .linear_y = true,
                              .labels = true,
                              .series = {{.name = "first", .points = {{1, -2}}},
                                         {.name = "second", .points = {{1, -2}}},
                                         {.name = "third", .points = {{100, 5}}}}}}};
  const std::string svg = render_svg(plot);
  expect_well_formed(svg);
  for (const char* name : {">first<", ">second<", ">third<"}) {
    const size_t at = svg.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_EQ(svg.find(name, at + 1), std::string::npos) << name << " is in a legend, too";
  }
  EXPECT_NE(svg.find(">10<"), std::string::npos) << "x is logarithmic";
  Plot log = plot;
  log.panels[0].linear_y = false;
  EXPECT_EQ(error_of([&] { render_svg(log); }),
            "[plot] series \"first\" has the point (1, -2), expected positive numbers on log axes");
}

}  // namespace
}  // namespace heed::cli
