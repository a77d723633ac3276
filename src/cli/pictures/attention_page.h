// Attention weights as pictures: an interactive page that needs nothing but itself, and static
// heatmaps as SVG and PNG. Pure functions; bad drawings and selections throw Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heed::cli {

// The weights of one attention layer. Layers and heads count from 0, as in checkpoints' names.
struct AttentionMap {
  std::string kind;  // "encoder" (source to source), "decoder" (target to target), "cross"
                     // (target to source) or "hops" (from no token to the source)
  int64_t layer = 0;
  std::vector<std::vector<float>> heads;  // per head [queries, keys], weights from 0 to 1
  int64_t queries = 0;
  int64_t keys = 0;
};

// How many steps a model thought about each token of a side.
struct PonderRow {
  std::string kind;  // "encoder" (of the source) or "decoder" (of the target)
  std::vector<float> steps;
};

// What the rows and the columns of a map stand for.
struct AttentionSides {
  std::vector<std::string> queries;
  std::vector<std::string> keys;
};

struct AttentionDrawing {
  std::string title;
  std::vector<std::string> source;        // tokens in UTF-8, as in the vocabulary
  std::vector<std::string> target;        // the decoder's input, so its start token comes first
  std::vector<AttentionMap> maps;         // all of one kind have as many heads
  std::vector<PonderRow> pondering = {};  // drawn on the page; empty: all take as many steps
};

AttentionSides sides_of(const AttentionDrawing& drawing, const AttentionMap& map);

// What to draw; an absent member means all.
struct AttentionSelection {
  std::optional<std::string> kind = std::nullopt;
  std::optional<int64_t> layer = std::nullopt;
  std::optional<int64_t> head = std::nullopt;
};

// Holds every map; the selection is what it shows first.
std::string render_attention_html(const AttentionDrawing& drawing,
                                  const AttentionSelection& selection = {});

// One map with its tokens if the selection leaves one, otherwise a grid of layers by heads for each
// kind. A PNG's letters are ASCII and those of Western Europe; others become boxes.
std::string render_attention_svg(const AttentionDrawing& drawing,
                                 const AttentionSelection& selection = {});
std::string render_attention_png(const AttentionDrawing& drawing,
                                 const AttentionSelection& selection = {});

// What all of the above check first.
void check_attention(const AttentionDrawing& drawing, const AttentionSelection& selection);

}  // namespace heed::cli
