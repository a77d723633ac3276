// Piano rolls: every note is a rectangle where it belongs; and the page of who looked at whom.
#include "cli/pictures/piano_roll.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "cli/pictures/music_page.h"
#include "formats/png.h"
#include "support/error_of.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using testing::error_of;

struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
  std::string colour;
};

// Those with a width and height of whole units; frames have others.
std::vector<Rectangle> rectangles(const std::string& svg) {
  static const std::regex pattern(
      "<rect x=\"(\\d+)\" y=\"(\\d+)\" width=\"(\\d+)\" height=\"(\\d+)\" fill=\"(#\\w+)\"/>");
  std::vector<Rectangle> found;
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    found.push_back({std::stoi((*at)[1]), std::stoi((*at)[2]), std::stoi((*at)[3]),
                     std::stoi((*at)[4]), (*at)[5]});
  }
  return found;
}

// Notes are as high as a key: four units in one or two rows, three in more.
std::vector<Rectangle> notes_of(const std::string& svg, int key) {
  std::vector<Rectangle> notes = rectangles(svg);
  std::erase_if(notes, [&](const Rectangle& r) {
    const bool tick = r.width == 1 && r.colour == "#6a737d";
    return r.height != key || tick;
  });
  return notes;
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

PianoRoll roll() {
  return {.title = "a < b & c",
          .notes = {{.start = 0.0, .end = 1.0, .pitch = 60, .velocity = 127},
                    {.start = 0.5, .end = 2.0, .pitch = 72, .velocity = 127},
                    {.start = 2.0, .end = 2.5, .pitch = 60, .velocity = 20},
                    {.start = 2.5, .end = 4.0, .pitch = 48, .velocity = 127}},
          .motif_end = 2.0};
}

TEST(PianoRoll, ARectangleForEachNote) {
  const std::string svg = render_roll_svg(roll());
  const std::vector<Rectangle> notes = notes_of(svg, 4);
  ASSERT_EQ(notes.size(), 4U);
  // 960 units for 4 s, from 42 on; one unit is left free behind a note.
  EXPECT_EQ(notes[0].x, 42);
  EXPECT_EQ(notes[0].width, 239);
  EXPECT_EQ(notes[1].x, 42 + 120);
  EXPECT_EQ(notes[1].width, 359);
  EXPECT_EQ(notes[3].x + notes[3].width, 42 + 959);
  EXPECT_EQ(notes[0].y - notes[1].y, 12 * 4);
  EXPECT_EQ(notes[3].y - notes[0].y, 12 * 4);
  EXPECT_EQ(notes[0].colour, "#0072b2");
  EXPECT_EQ(notes[1].colour, "#0072b2");
  EXPECT_EQ(notes[3].colour, "#d55e00");
  EXPECT_NE(notes[2].colour, "#d55e00");  // paler
  EXPECT_GT(std::stoi(notes[2].colour.substr(3, 2), nullptr, 16), 0x5E);
}

TEST(PianoRoll, AMelodyIsToldByItsChannel) {
  PianoRoll accompanied = roll();
  accompanied.motif_end = 0.0;
  accompanied.accompanied = true;
  accompanied.notes[0].channel = 1;
  const std::string svg = render_roll_svg(accompanied);
  const std::vector<Rectangle> notes = notes_of(svg, 4);
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(notes[0].colour, "#d55e00");
  EXPECT_EQ(notes[1].colour, "#0072b2");
  EXPECT_EQ(notes[3].colour, "#0072b2");
  EXPECT_NE(svg.find("melody: 3 notes"), std::string::npos);
  EXPECT_NE(svg.find("accompaniment: 1 notes"), std::string::npos);
}

TEST(PianoRoll, WellFormedWithNamesSecondsAndLegend) {
  const std::string svg = render_roll_svg(roll());
  EXPECT_EQ(count(svg, "<svg"), 1U);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "\"") % 2, 0U);
  EXPECT_NE(svg.find("a &lt; b &amp; c</text>"), std::string::npos);
  for (const char* text : {">C3<", ">C4<", ">C5<", ">0 s<", ">4 s<", ">motif: 2 notes<",
                           ">continuation: 2 notes<", ">soft<", ">loud<"}) {
    EXPECT_EQ(count(svg, text), 1U) << text;
  }
  PianoRoll free = roll();
  free.motif_end = 0.0;
  const std::string improvised = render_roll_svg(free);
  EXPECT_EQ(count(improvised, "motif"), 0U);
  EXPECT_NE(improvised.find(">improvisation: 4 notes<"), std::string::npos);
}

TEST(PianoRoll, LongPiecesTakeRows) {
  PianoRoll long_roll{.title = "long", .notes = {}, .motif_end = 0.0};
  for (int i = 0; i < 400; ++i) {
    long_roll.notes.push_back(
        {.start = i * 0.25, .end = i * 0.25 + 0.2, .pitch = 30 + i % 60, .velocity = 64});
  }
  const std::string svg = render_roll_svg(long_roll);  // 100 s: five rows of 20
  const std::vector<Rectangle> notes = notes_of(svg, 3);
  EXPECT_EQ(notes.size(), 400U);
  EXPECT_EQ(count(svg, ">C4<"), 5U);
  EXPECT_NE(svg.find(">98 s<"), std::string::npos);
  for (const Rectangle& note : notes) {
    EXPECT_GE(note.x, 42);
    EXPECT_LE(note.x + note.width, 42 + 960);
  }
  // A note over the end of a row goes on in the next.
  long_roll.notes[79].end = 21.0;
  EXPECT_EQ(notes_of(render_roll_svg(long_roll), 3).size(), 401U);
}

TEST(PianoRoll, PngIsAsLargeAsTheSvgAndShowsTheNotes) {
  const std::string png = render_roll_png(roll());
  const Image image = decode_png(std::as_bytes(std::span(png.data(), png.size())));
  EXPECT_NE(render_roll_svg(roll()).find(
                fmt::format("viewBox=\"0 0 {} {}\"", image.width / 2, image.height / 2)),
            std::string::npos);
  const Rectangle last = notes_of(render_roll_svg(roll()), 4)[3];
  const auto at = static_cast<size_t>(((last.y * 2 + 3) * image.width + last.x * 2 + 9) * 3);
  EXPECT_EQ(image.pixels[at], 0xD5);
  EXPECT_EQ(image.pixels[at + 1], 0x5E);
  EXPECT_EQ(image.pixels[at + 2], 0x00);
}

TEST(PianoRoll, ExtremePieces) {
  for (const PianoRoll& drawn : {
           PianoRoll{.title = "", .notes = {}, .motif_end = 0.0},
           PianoRoll{.title = "x",
           .notes = {{.start = 0.0, .end = 86400.0, .pitch = 0, .velocity = 1},
                     {.start = 86399.99, .end = 86400.0, .pitch = 127, .velocity = 127}},
           .motif_end = 86400.0},
       }) {
    EXPECT_FALSE(render_roll_svg(drawn).empty());
    EXPECT_FALSE(render_roll_png(drawn).empty());
  }
  PianoRoll bad = roll();
  bad.notes[0].pitch = 128;
  EXPECT_EQ(error_of([&] { render_roll_svg(bad); }), "[roll] pitch 128, expected 0 to 127");
  bad = roll();
  bad.notes[0].end = -1.0;
  EXPECT_EQ(error_of([&] { render_roll_svg(bad); }),
            "[roll] a note from 0 to -1 s, expected 0 to 86400");
}

TEST(PianoRoll, PitchNames) {
  EXPECT_EQ(pitch_name(60), "C4");
  EXPECT_EQ(pitch_name(21), "A0");
  EXPECT_EQ(pitch_name(0), "C-1");
  EXPECT_EQ(pitch_name(127), "G9");
}

ContinuedPiece piece() {
  ContinuedPiece made;
  made.notes = roll().notes;
  made.motif_end = 2.0;
  made.tokens = {1, 64, 76, 64, 52};
  return made;
}

NoteAttention attention() {
  return {.queries = {2, 3},
          .keys = {1, 2, 3},
          .layers = {{.layer = 0, .heads = 1, .weights = {0.25F, 0.75F, 0, 0, 0.01F, 0, 0, 0.99F}}},
          .first_token = 1};
}

json data_of(const std::string& page) {
  const std::string from = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(from) + from.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(MusicPage, CarriesNotesAndWeights) {
  const json data = data_of(render_music_page("t", piece(), attention()));
  EXPECT_EQ(data["notes"], json({{0.5, 2.0, 72, 127}, {2.0, 2.5, 60, 20}, {2.5, 4.0, 48, 127}}));
  EXPECT_EQ(data["queries"], json({1, 2}));
  EXPECT_EQ(data["motifEnd"], 2.0);
  EXPECT_EQ(data["cut"], "Only the last 4 of 5 tokens are shown.");
  // 255 times the roots: 128 (127.5 up), 221, 0, 0, 26 (25.5 up), 0, 0, 254.
  EXPECT_EQ(data["layers"], json({{{"layer", 0}, {"heads", {"gN0AABoAAP4="}}}}));
}

TEST(MusicPage, NeedsNothingButItselfAndNoTextBreaksOut) {
  const std::string page = render_music_page("</script><b>&{{data}}", piece(), attention());
  const std::string tame = render_music_page("t", piece(), attention());
  for (const char* tag : {"</script>", "<script", "<!--", "<b>", "</title>"}) {
    EXPECT_EQ(count(page, tag), count(tame, tag)) << tag;
  }
  EXPECT_EQ(data_of(page)["title"], "</script><b>&{{data}}");
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import", "url(", "fetch("}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  NoteAttention none = attention();
  none.queries.clear();
  EXPECT_EQ(error_of([&] { render_music_page("t", piece(), none); }),
            "[continue] there is no new note to draw the attention of");
}

}  // namespace
}  // namespace heed::cli
