#include "cli/pictures/bitmap_font.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace heed::cli {
namespace {

constexpr size_t kDrawn = 9;  // rows of a drawing, which leaves out the accents' rows
constexpr size_t kTop = kGlyphHeight - kDrawn;
constexpr size_t kPitch = kGlyphWidth + 1;

// Letters drawn side by side with a column between them; '#' is ink.
struct Sheet {
  std::u32string_view letters;
  std::array<std::string_view, kDrawn> rows;
};

// clang-format off
constexpr std::array kSheets{
    Sheet{U" !\"#$%&'()*+",
          {"        #    # #          #   ##     ##     #      #   #               ",
           "        #    # #   # #   #### ##  # #  #    #     #     #     #     #  ",
           "        #    # #  ##### # #      #  # #     #    #       #  # # #   #  ",
           "        #          # #   ###    #    #           #       #   ###  #####",
           "        #         #####   # #  #    # # #        #       #  # # #   #  ",
           "                   # #  ####  #  ## #  #          #     #     #     #  ",
           "        #                 #      ##  ## #          #   #               ",
           "                                                                       ",
           "                                                                       "}},
    Sheet{U",-./01234567",
          {"                         ###    #    ###  #####    #  #####   ##  #####",
           "                      # #   #  ##   #   #    #    ##  #      #        #",
           "                     #  #  ##   #       #   #    # #  ####  #        # ",
           "      #####         #   # # #   #      #     #  #  #      # ####    #  ",
           "                   #    ##  #   #     #       # #####     # #   #  #   ",
           "  #           ##  #     #   #   #    #    #   #    #  #   # #   #  #   ",
           "  #           ##         ###   ###  #####  ###     #   ###   ###   #   ",
           " #                                                                     ",
           "                                                                       "}},
    Sheet{U"89:;<=>?@ABC",
          {" ###   ###                 #         #     ###   ###   ###  ####   ### ",
           "#   # #   #  ##    ##     #           #   #   # #   # #   # #   # #   #",
           "#   # #   #  ##    ##    #    #####    #      # # ### #   # #   # #    ",
           " ###   ####             #               #    #  # # # ##### ####  #    ",
           "#   #     #  ##    ##    #    #####    #    #   # ### #   # #   # #    ",
           "#   #    #   ##     #     #           #         #     #   # #   # #   #",
           " ###   ##           #      #         #      #    ###  #   # ####   ### ",
           "                   #                                                   ",
           "                                                                       "}},
    Sheet{U"DEFGHIJKLMNO",
          {"####  ##### #####  ###  #   #  ###    ### #   # #     #   # #   #  ### ",
           "#   # #     #     #   # #   #   #      #  #  #  #     ## ## #   # #   #",
           "#   # #     #     #     #   #   #      #  # #   #     # # # ##  # #   #",
           "#   # ####  ####  # ### #####   #      #  ##    #     # # # # # # #   #",
           "#   # #     #     #   # #   #   #      #  # #   #     #   # #  ## #   #",
           "#   # #     #     #   # #   #   #   #  #  #  #  #     #   # #   # #   #",
           "####  ##### #      #### #   #  ###   ##   #   # ##### #   # #   #  ### ",
           "                                                                       ",
           "                                                                       "}},
    Sheet{U"PQRSTUVWXYZ[",
          {"####   ###  ####   #### ##### #   # #   # #   # #   # #   # #####  ### ",
           "#   # #   # #   # #       #   #   # #   # #   # #   # #   #     #  #   ",
           "#   # #   # #   # #       #   #   # #   # #   #  # #   # #     #   #   ",
           "####  #   # ####   ###    #   #   # #   # # # #   #     #     #    #   ",
           "#     # # # # #       #   #   #   # #   # # # #  # #    #    #     #   ",
           "#     #  #  #  #      #   #   #   #  # #  ## ## #   #   #   #      #   ",
           "#      ## # #   # ####    #    ###    #   #   # #   #   #   #####  ### ",
           "                                                                       ",
           "                                                                       "}},
    Sheet{U"\\]^_`abcdefg",
          {"       ###    #          #          #               #         ##       ",
           "#        #   # #          #         #               #        #         ",
           " #       #  #   #              ###  ####   ###   ####  ###   #     ####",
           "  #      #                        # #   # #     #   # #   # ####  #   #",
           "   #     #                     #### #   # #     #   # #####  #    #   #",
           "    #    #                    #   # #   # #     #   # #      #    #   #",
           "       ###                     #### ####   ###   ####  ###   #     ####",
           "                  #####                                               #",
           "                                                                   ### "}},
    Sheet{U"hijklmnopqrs",
          {"#       #      #  #      ##                                            ",
           "#                 #       #                                            ",
           "####   ##     ##  #  #    #   ## #  ####   ###  ####   #### # ##   ####",
           "#   #   #      #  # #     #   # # # #   # #   # #   # #   # ##  # #    ",
           "#   #   #      #  ##      #   # # # #   # #   # #   # #   # #      ### ",
           "#   #   #      #  # #     #   # # # #   # #   # #   # #   # #         #",
           "#   #  ###     #  #  #   ###  # # # #   #  ###  ####   #### #     #### ",
           "            #  #                                #         #            ",
           "             ##                                 #         #            "}},
    Sheet{U"tuvwxyz{|}~ı",
          {" #                                           ##   #   ##               ",
           " #                                          #     #     #              ",
           "####  #   # #   # #   # #   # #   # #####   #     #     #          ##  ",
           " #    #   # #   # #   #  # #  #   #    #   #      #      #   #      #  ",
           " #    #   # #   # # # #   #   #   #   #     #     #     #   # # #   #  ",
           " #  # #  ##  # #  # # #  # #  #   #  #      #     #     #      #    #  ",
           "  ##   ## #   #    # #  #   #  #### #####    ##   #   ##           ### ",
           "                                  #               #                    ",
           "                               ###                #                    "}},
    Sheet{U"ßæøðþœÆØŒ¡¿«",
          {" ###               # #  #            ####  ####  ####   #     #        ",
           "#   #               #   #           # #   #  ## # #                    ",
           "#  #  ####   ####  # #  ####   #### # #   # # # # #     #     #     # #",
           "# #     # # #  ##  #### #   # # # # ##### # # # # ###   #    #     # # ",
           "#  #  ##### # # # #   # #   # # ### # #   # # # # #     #   #     # #  ",
           "#   # # #   ##  # #   # #   # # #   # #   ##  # # #     #   #   #  # # ",
           "# ##  ##### ####   ###  ####   #### # ### ####   ####   #    ###    # #",
           "                        #                                              ",
           "                        #                                              "}},
    Sheet{U"»°·€£§‘’“”„–",
          {"       ##           ###   ##   ###     #    #     # #  # #             ",
           "      #  #         #     #  # #       #     #    # #   # #             ",
           "# #   #  #        ####   #     ###    #    #     # #  # #              ",
           " # #   ##     #    #    ####  #   #                               #### ",
           "  # #             ####   #     ###                                     ",
           " # #               #     #        #                          # #       ",
           "# #                 ### #####  ###                           # #       ",
           "                                                            # #        ",
           "                                                                       "}},
    Sheet{U"—…▁→",
          {"                       ",
           "                       ",
           "                    #  ",
           "#####                # ",
           "                  #####",
           "                     # ",
           "      # # #         #  ",
           "                       ",
           "            #####      "}},
};
// clang-format on

// An accent, where it stands, and what it makes of which letters.
struct Accent {
  std::array<uint8_t, 2> rows;
  enum class Place { kAbove, kBelow } place;
  std::u32string_view composed;
  std::u32string_view bases;
};

constexpr std::array kAccents{
    Accent{{0b01000, 0b00100}, Accent::Place::kAbove, U"ÀÈÌÒÙàèìòù", U"AEIOUaeıou"},
    Accent{{0b00010, 0b00100},
           Accent::Place::kAbove,
           U"ÁÉÍÓÚÝáéíóúýĆŃŚŹćńśź",
           U"AEIOUYaeıouyCNSZcnsz"},
    Accent{{0b00100, 0b01010}, Accent::Place::kAbove, U"ÂÊÎÔÛâêîôû", U"AEIOUaeıou"},
    Accent{{0b01101, 0b10010}, Accent::Place::kAbove, U"ÃÑÕãñõ", U"ANOano"},
    Accent{{0b01010, 0b00000}, Accent::Place::kAbove, U"ÄËÏÖÜŸäëïöüÿ", U"AEIOUYaeıouy"},
    Accent{{0b01010, 0b00100}, Accent::Place::kAbove, U"ČĚŇŘŠŽčěňřšž", U"CENRSZcenrsz"},
    Accent{{0b01100, 0b01100}, Accent::Place::kAbove, U"ÅŮåů", U"AUau"},
    Accent{{0b00100, 0b00000}, Accent::Place::kAbove, U"ŻĠİżġ", U"ZGIzg"},
    Accent{{0b00100, 0b01000}, Accent::Place::kBelow, U"ÇŞçş", U"CScs"},
    Accent{{0b00010, 0b00011}, Accent::Place::kBelow, U"ĄĘąę", U"AEae"},
};

constexpr Glyph kBox{0, 0, 0b11111, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11111, 0, 0};
constexpr char32_t kNoBreakSpace = U'\u00A0';

std::optional<Glyph> drawn_glyph(char32_t letter) {
  for (const Sheet& sheet : kSheets) {
    const size_t at = sheet.letters.find(letter);
    if (at == std::u32string_view::npos) {
      continue;
    }
    Glyph glyph{};
    for (size_t y = 0; y < kDrawn; ++y) {
      for (const char pixel : sheet.rows[y].substr(at * kPitch, kGlyphWidth)) {
        glyph[kTop + y] = static_cast<uint8_t>(glyph[kTop + y] << 1U | (pixel == '#' ? 1U : 0U));
      }
    }
    return glyph;
  }
  return std::nullopt;
}

// The row of an accent above: as low as a blank row before the letter allows, if there is one.
size_t row_above(const Glyph& base, const Accent& accent) {
  size_t first = 0;
  while (base[first] == 0) {
    ++first;
  }
  const size_t height = accent.rows[1] == 0 ? 1 : 2;
  return first > height ? first - height - 1 : 0;
}

std::optional<Glyph> composed_glyph(char32_t letter) {
  for (const Accent& accent : kAccents) {
    const size_t at = accent.composed.find(letter);
    if (at == std::u32string_view::npos) {
      continue;
    }
    Glyph glyph = *drawn_glyph(accent.bases[at]);
    const size_t row = accent.place == Accent::Place::kBelow ? static_cast<size_t>(kGlyphBaseline)
                                                             : row_above(glyph, accent);
    glyph[row] |= accent.rows[0];
    glyph[row + 1] |= accent.rows[1];
    return glyph;
  }
  return std::nullopt;
}

}  // namespace

Glyph glyph_of(char32_t letter) {
  if (letter == kNoBreakSpace) {
    letter = U' ';
  }
  if (const std::optional<Glyph> glyph = drawn_glyph(letter)) {
    return *glyph;
  }
  return composed_glyph(letter).value_or(kBox);
}

}  // namespace heed::cli
