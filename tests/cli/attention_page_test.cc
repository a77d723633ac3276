#include "cli/pictures/attention_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/pictures/bitmap_font.h"
#include "cli/pictures/canvas.h"
#include "cli/pictures/label.h"
#include "formats/png.h"
#include "support/error_of.h"
#include "text/unicode_class.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using testing::error_of;

constexpr const char* kNasty = "</script><!--<b>&\"'";

// Two layers of three heads; every row sums to one.
AttentionDrawing drawing() {
  AttentionDrawing made{.title = "a < b & {{data}}",
                        .source = {"▁the", kNasty, "über"},
                        .target = {"<s>", "▁das\x01"},
                        .maps = {},
                        .pondering = {{"encoder", {1, 3, 2}}, {"decoder", {2, 4}}}};
  for (const char* kind : {"encoder", "decoder", "cross"}) {
    for (const int64_t layer : {1, 0}) {
      AttentionMap map{.kind = kind, .layer = layer, .heads = {}, .queries = 2, .keys = 3};
      map.queries = map.kind == "encoder" ? 3 : 2;
      map.keys = map.kind == "decoder" ? 2 : 3;
      for (int head = 0; head < 3; ++head) {
        std::vector<float> weights(static_cast<size_t>(map.queries * map.keys), 0.0F);
        for (int64_t query = 0; query < map.queries; ++query) {
          float* row = weights.data() + query * map.keys;
          row[0] = 0.1F * static_cast<float>(head) + 0.05F * static_cast<float>(layer);
          row[map.keys - 1] += 1.0F - row[0];
        }
        map.heads.push_back(weights);
      }
      made.maps.push_back(map);
    }
  }
  return made;
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t start = text.find(from);
  EXPECT_NE(start, std::string::npos) << from;
  const size_t begin = start + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

// Bit by bit, unlike the encoder.
std::vector<float> floats_of(const std::string& base64) {
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : base64) {
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (digit < 0) {
      EXPECT_EQ(c, '=');
      break;
    }
    bits = bits << 6U | static_cast<uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> static_cast<uint32_t>(held) & 0xFFU);
    }
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

json data_of(const std::string& page) {
  return json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

TEST(AttentionPage, CarriesTheWeightsExactly) {
  const AttentionDrawing drawn = drawing();
  const json data = data_of(render_attention_html(drawn));
  ASSERT_EQ(data["maps"].size(), drawn.maps.size());
  for (size_t i = 0; i < drawn.maps.size(); ++i) {
    const json& map = data["maps"][i];
    EXPECT_EQ(map["kind"], drawn.maps[i].kind);
    EXPECT_EQ(map["layer"], drawn.maps[i].layer);
    EXPECT_EQ(map["queries"], drawn.maps[i].queries);
    EXPECT_EQ(map["keys"], drawn.maps[i].keys);
    ASSERT_EQ(map["heads"].size(), 3U);
    for (size_t head = 0; head < 3; ++head) {
      EXPECT_EQ(floats_of(map["heads"][head]), drawn.maps[i].heads[head]);
    }
  }
  EXPECT_EQ(data["pondering"], json({{"encoder", {1, 3, 2}}, {"decoder", {2, 4}}}));
}

TEST(AttentionPage, NoTextBreaksOut) {
  const std::string plain = render_attention_html([] {
    AttentionDrawing tame = drawing();
    tame.title = "t";
    tame.source[1] = "tame";
    return tame;
  }());
  const std::string page = render_attention_html(drawing());
  for (const char* tag : {"</script>", "<script", "<!--", "<b>", "</title>"}) {
    EXPECT_EQ(count(page, tag), count(plain, tag)) << tag;
  }
  EXPECT_NE(page.find("<title>a &lt; b &amp; {{data}}</title>"), std::string::npos);
  const json data = data_of(page);
  EXPECT_EQ(data["source"][1], kNasty);
  EXPECT_EQ(data["title"], "a < b & {{data}}");
  EXPECT_EQ(data["target"], json({"<s>", "▁das\\x01"}));
}

TEST(AttentionPage, NeedsNothingButItself) {
  const std::string page = render_attention_html(drawing());
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import", "url(", "fetch("}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
}

TEST(AttentionPage, BeginsWithTheSelection) {
  const json chosen =
      data_of(render_attention_html(drawing(), {.kind = "cross", .layer = 1, .head = 2}));
  EXPECT_EQ(chosen["start"], json({{"kind", "cross"}, {"layer", 1}, {"head", 2}}));
  EXPECT_EQ(data_of(render_attention_html(drawing()))["start"], json::object());
}

TEST(AttentionPage, BytesThatAreNotUtf8AreReplaced) {
  AttentionDrawing drawn = drawing();
  drawn.source[0] = "\xE2\x96";
  EXPECT_EQ(data_of(render_attention_html(drawn))["source"][0], "\uFFFD\uFFFD");
}

// Every element is closed, in order, attributes are quoted and no bare & is left.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  size_t text = 0;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', text)) {
    EXPECT_EQ(xml.substr(text, at - text).find('>'), std::string::npos);
    const size_t end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    ASSERT_EQ(count(tag, "\"") % 2, 0U) << tag;
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
    text = end + 1;
  }
  EXPECT_TRUE(open.empty());
  const std::set<std::string> known{"&amp;", "&lt;", "&gt;", "&quot;"};
  for (size_t at = xml.find('&'); at != std::string::npos; at = xml.find('&', at + 1)) {
    EXPECT_EQ(known.count(xml.substr(at, xml.find(';', at) - at + 1)), 1U);
  }
}

TEST(AttentionPicture, SvgOfOneMapHasItsLabelsAndColours) {
  const std::string svg = render_attention_svg(drawing(), {.kind = "cross", .layer = 0, .head = 0});
  expect_well_formed(svg);
  EXPECT_NE(svg.find(">&lt;/script&gt;&lt;!--&lt;b&gt;&amp;&quot;'</text>"), std::string::npos);
  EXPECT_NE(svg.find(">▁</tspan>das\\x01</text>"), std::string::npos);
  EXPECT_NE(svg.find("layer 0, head 0</text>"), std::string::npos);
  EXPECT_EQ(count(svg, "rotate(-90"), 3U);  // one for each column
  // Both rows give all their weight to the last of three columns: one shade, two cells.
  const std::string path = between(svg, "<path fill=\"#330c4e\" d=\"", "\"");
  EXPECT_EQ(count(path, "z"), 2U);
}

TEST(AttentionPicture, SvgGridHasEveryLayerAndHead) {
  const std::string svg = render_attention_svg(drawing());
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, ">layer 0</text>"), 3U);
  EXPECT_EQ(count(svg, ">layer 1</text>"), 3U);
  EXPECT_EQ(count(svg, ">head 2</text>"), 3U);
  EXPECT_LT(svg.find(">layer 0</text>"), svg.find(">layer 1</text>"));
  EXPECT_EQ(count(svg, "fill=\"none\""), 3U * 2 * 3 + 1);  // a frame each, and the scale's
  const std::string part = render_attention_svg(drawing(), {.kind = "encoder", .layer = 1});
  EXPECT_EQ(count(part, "fill=\"none\""), 3U + 1);
}

Rgb pixel(const Image& image, int64_t x, int64_t y) {
  const uint8_t* at = image.pixels.data() + (y * image.width + x) * image.channels;
  return {at[0], at[1], at[2]};
}

TEST(AttentionPicture, PngShowsTheWeights) {
  AttentionDrawing drawn = drawing();
  drawn.title = "t";
  drawn.source = {"ab", "abcd", "c"};
  drawn.target = {"x", "wxyz"};
  drawn.maps[4].heads[1] = {0.25F, 0.5F, 0.25F, 0.0F, 0.0F, 1.0F};  // cross, layer 1
  const std::string png = render_attention_png(drawn, {.kind = "cross", .layer = 1, .head = 1});
  const Image image = decode_png(std::as_bytes(std::span(png.data(), png.size())));
  // Labels of four letters of six units on either side, cells of 24 units, two pixels a unit.
  const int64_t left = 2 * (16 + 24 + 6), top = 2 * (60 + 24 + 6);
  EXPECT_EQ(image.height, top + 2 * (2 * 24 + 40));
  EXPECT_EQ(image.channels, 3);
  const auto cell = [&](int64_t row, int64_t column) {
    return pixel(image, left + 48 * column + 24, top + 48 * row + 24);
  };
  EXPECT_EQ(cell(0, 0), weight_colour(0.25F));
  EXPECT_EQ(cell(0, 1), (Rgb{0x3E, 0xA5, 0xA9}));
  EXPECT_EQ(cell(1, 0), (Rgb{0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(cell(1, 2), (Rgb{0x33, 0x0C, 0x4E}));
  EXPECT_EQ(pixel(image, left, top), weight_colour(0.25F));
  EXPECT_EQ(pixel(image, left + 48 * 3 - 1, top + 48 * 2 - 1), (Rgb{0x33, 0x0C, 0x4E}));
  EXPECT_EQ(pixel(image, left - 1, top), (Rgb{0xC4, 0xCA, 0xD0}));  // its frame
}

TEST(AttentionPicture, PngGridIsAsLargeAsTheSvg) {
  const std::string png = render_attention_png(drawing());
  const Image image = decode_png(std::as_bytes(std::span(png.data(), png.size())));
  const std::string box = between(render_attention_svg(drawing()), "viewBox=\"0 0 ", "\"");
  EXPECT_EQ(box, fmt::format("{} {}", image.width / 2, image.height / 2));
}

TEST(AttentionPicture, LongSentences) {
  AttentionDrawing drawn{.title = "long", .source = {}, .target = {}, .maps = {}};
  const auto with_tokens = [&](size_t tokens) {
    drawn.source.assign(tokens, "Donaudampfschifffahrtsgesellschaft");
    const auto size = static_cast<int64_t>(tokens);
    drawn.maps = {
        {.kind = "encoder",
         .layer = 0,
         .heads = {std::vector<float>(tokens * tokens, 1.0F / static_cast<float>(tokens))},
         .queries = size,
         .keys = size}};
  };
  for (const size_t tokens : {1, 200}) {
    with_tokens(tokens);
    EXPECT_FALSE(render_attention_html(drawn).empty());
    expect_well_formed(render_attention_svg(drawn));
    EXPECT_FALSE(render_attention_png(drawn).empty());
  }
  with_tokens(400);
  EXPECT_NE(error_of([&] { render_attention_png(drawn); }).find("choose fewer maps or write .html"),
            std::string::npos);
}

TEST(AttentionPicture, RowsOfHopsAreNoTokens) {
  const AttentionDrawing drawn{.title = "t",
                               .source = {"a", "b", "c"},
                               .target = {},
                               .maps = {{.kind = "hops",
                                         .layer = 0,
                                         .heads = {{1, 0, 0, 0, 0.5F, 0.5F}},
                                         .queries = 2,
                                         .keys = 3}}};
  const std::string svg = render_attention_svg(drawn);
  expect_well_formed(svg);
  EXPECT_NE(svg.find(">hop 0</text>"), std::string::npos);
  EXPECT_NE(svg.find(">hop 1</text>"), std::string::npos);
  EXPECT_EQ(svg.find(">hop 2</text>"), std::string::npos);
  EXPECT_NE(svg.find("Hops of attention (rows) over the words of the text"), std::string::npos);
  EXPECT_EQ(data_of(render_attention_html(drawn))["hops"], json({"hop 0", "hop 1"}));
}

TEST(AttentionPicture, SaysWhatIsWrong) {
  const auto error_with = [](const auto& change) {
    AttentionDrawing drawn = drawing();
    change(drawn);
    return error_of([&] { render_attention_html(drawn); });
  };
  EXPECT_EQ(error_with([](auto& d) { d.maps.clear(); }), "[attention] there are no maps to draw");
  EXPECT_EQ(error_with([](auto& d) { d.maps[0].kind = "self"; }),
            "[attention] a map of kind \"self\", expected encoder, decoder, cross or hops");
  EXPECT_EQ(error_with([](auto& d) { d.source.pop_back(); }),
            "[attention] encoder layer 1 is [3, 3], expected [2, 2] for its tokens");
  EXPECT_EQ(error_with([](auto& d) { d.maps[0].heads[2].pop_back(); }),
            "[attention] encoder layer 1 head 2 has 8 weights, expected 9");
  EXPECT_EQ(error_with([](auto& d) { d.maps[1].heads.pop_back(); }),
            "[attention] encoder layer 0 has 2 heads, expected 3 as in layer 1");
  EXPECT_EQ(error_with([](auto& d) { d.maps[1].layer = 1; }),
            "[attention] encoder layer 1 is there twice");
  EXPECT_EQ(error_with([](auto& d) { d.target.clear(); }),
            "[attention] decoder attention from 0 to 0 tokens, expected some");
  EXPECT_EQ(error_with([](auto& d) { d.pondering[1].steps.pop_back(); }),
            "[attention] steps of 1 decoder tokens, expected 2");
  for (const float bad : {-0.1F, 1.1F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_NE(error_with([&](auto& d) { d.maps[0].heads[0][1] = bad; }).find("expected 0 to 1"),
              std::string::npos);
  }
  const auto selected = [](const AttentionSelection& selection) {
    return error_of([&] { render_attention_svg(drawing(), selection); });
  };
  EXPECT_EQ(selected({.kind = "self"}), "[attention] there is no self attention to draw");
  EXPECT_EQ(selected({.layer = 2}), "[attention] there is no layer 2, they count from 0");
  EXPECT_EQ(selected({.head = 3}), "[attention] there is no head 3, they count from 0");
  EXPECT_EQ(selected({.head = -1}), "[attention] there is no head -1, they count from 0");
}

TEST(Label, AnyBytesBecomeText) {
  EXPECT_EQ(to_code_points("aü€𝄞"), U"aü€𝄞");
  EXPECT_EQ(encode_utf8(U"aü€𝄞"), "aü€𝄞");
  // Cut short, stray, too long for what they say, and half of a pair.
  EXPECT_EQ(to_code_points("\xE2\x82"), U"\uFFFD\uFFFD");
  EXPECT_EQ(to_code_points("a\x80z"), U"a\uFFFDz");
  EXPECT_EQ(to_code_points("\xC0\xAF"), U"\uFFFD\uFFFD");
  EXPECT_EQ(to_code_points("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(to_code_points("\xF5\x80\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(printable("a\n\t\x7F"
                      "b"),
            "a\\n\\t\\x7fb");
  EXPECT_EQ(printable("\xEF\xBF\xBF"), "\uFFFD");
  EXPECT_EQ(shortened("größer", 6), "größer");
  EXPECT_EQ(shortened("größer", 4), "grö…");
}

TEST(Canvas, ColoursGetSteadilyDarker) {
  double before = 256.0;
  for (int i = 0; i <= 100; ++i) {
    const Rgb colour = weight_colour(static_cast<float>(i) / 100.0F);
    const double lightness = 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
    EXPECT_LT(lightness, before) << i;
    before = lightness;
  }
}

TEST(BitmapFont, LettersDiffer) {
  const Glyph box = glyph_of(U'漢');
  std::set<Glyph> seen{box};
  const std::u32string others = U"ßäöüÄÖÜàèéìòùÀÈÉÌÒÙâêîôûçñåøæœ«»„“”’–…€▁";
  std::u32string letters = others;
  for (char32_t letter = U' '; letter < 0x7F; ++letter) {
    letters += letter;
  }
  for (const char32_t letter : letters) {
    EXPECT_TRUE(seen.insert(glyph_of(letter)).second) << static_cast<uint32_t>(letter);
  }
  EXPECT_EQ(glyph_of(U'\u00A0'), glyph_of(U' '));
}

// An accent adds to its letter and leaves a row free where there is one.
TEST(BitmapFont, AccentsStandOnTheirLetters) {
  for (const auto& [accented, base] : {std::pair{U'ü', U'u'}, {U'Ü', U'U'}, {U'è', U'e'}}) {
    const Glyph with = glyph_of(accented), without = glyph_of(base);
    int added = 0;
    for (size_t row = 0; row < with.size(); ++row) {
      EXPECT_EQ(with[row] & without[row], without[row]);
      added += with[row] != without[row] ? 1 : 0;
    }
    EXPECT_GE(added, 1);
  }
  EXPECT_EQ(glyph_of(U'ü')[2], 0b01010);
  EXPECT_EQ(glyph_of(U'ü')[3], 0);
  EXPECT_EQ(glyph_of(U'Ü')[0], 0b01010);
}

TEST(PixelCanvas, TextUpwardsIsTheSameTextTurned) {
  const TextStyle style{};
  PixelCanvas flat(40, 40), turned(40, 40);
  flat.text(2, 20, "Übel", style);
  turned.text(20, 38, "Übel", {.upwards = true});
  const Image &a = flat.image(), &b = turned.image();
  for (int64_t y = 0; y < a.height; ++y) {
    for (int64_t x = 0; x < a.width; ++x) {
      ASSERT_EQ(pixel(a, x, y), pixel(b, y, b.height - 1 - x)) << x << ' ' << y;
    }
  }
}

}  // namespace
}  // namespace heed::cli
