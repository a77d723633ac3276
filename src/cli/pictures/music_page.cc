#include "cli/pictures/music_page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/encoding/base64.h"
#include "base/error.h"
#include "cli/pictures/label.h"
#include "cli/pictures/page.h"

namespace heed::embedded {
extern const std::string_view music_html;
}  // namespace heed::embedded

namespace heed::cli {
namespace {

using nlohmann::json;

// A byte for each weight, 255 times its root: large maps stay small, and small weights differ.
std::string weights_text(const float* weights, size_t count) {
  std::string bytes;
  bytes.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const float root = std::sqrt(std::clamp(weights[i], 0.0F, 1.0F));
    bytes += static_cast<char>(static_cast<uint8_t>(std::lround(255.0F * root)));
  }
  return base64(bytes);
}

json layers_of(const NoteAttention& attention) {
  const size_t size = attention.queries.size() * (attention.keys.size() + 1);
  json layers = json::array();
  for (const NoteAttentionLayer& layer : attention.layers) {
    json heads = json::array();
    for (int64_t head = 0; head < layer.heads; ++head) {
      heads.push_back(weights_text(layer.weights.data() + static_cast<size_t>(head) * size, size));
    }
    layers.push_back({{"layer", layer.layer}, {"heads", std::move(heads)}});
  }
  return layers;
}

}  // namespace

std::string render_music_page(const std::string& title, const ContinuedPiece& piece,
                              const NoteAttention& attention) {
  check(!attention.queries.empty(), "[continue] there is no new note to draw the attention of");
  json notes = json::array();
  std::vector<size_t> place(piece.notes.size(), 0);
  for (const size_t key : attention.keys) {
    const Note& note = piece.notes[key];
    place[key] = notes.size();
    notes.push_back({note.start, note.end, note.pitch, note.velocity});
  }
  json queries = json::array();
  for (const size_t query : attention.queries) {
    queries.push_back(place[query]);
  }
  const std::string cut =
      attention.first_token == 0
          ? ""
          : fmt::format("Only the last {1} of {0} tokens are shown.", piece.tokens.size(),
                        piece.tokens.size() - attention.first_token);
  const json data{{"title", printable(title)},
                  {"cut", cut},
                  {"elsewhere", "other tokens"},
                  {"motifEnd", piece.motif_end},
                  {"notes", std::move(notes)},
                  {"queries", std::move(queries)},
                  {"weights", "per head, rows of queries, a byte of 255 times the root in base64"},
                  {"layers", layers_of(attention)}};
  return fill_page(embedded::music_html, title, data);
}

}  // namespace heed::cli
