#include "cli/attention_page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/label.h"

namespace heed::embedded {
extern const std::string_view attention_html;
}  // namespace heed::embedded

namespace heed::cli {
namespace {

using nlohmann::json;

void check_map(const AttentionMap& map, const AttentionDrawing& drawing) {
  check(map.kind == "encoder" || map.kind == "decoder" || map.kind == "cross",
        "[attention] a map of kind \"{}\", expected encoder, decoder or cross", map.kind);
  const size_t queries = (map.kind == "encoder" ? drawing.source : drawing.target).size();
  const size_t keys = (map.kind == "decoder" ? drawing.target : drawing.source).size();
  check(queries > 0 && keys > 0, "[attention] {} attention from {} to {} tokens, expected some",
        map.kind, queries, keys);
  check(map.queries == static_cast<int64_t>(queries) && map.keys == static_cast<int64_t>(keys),
        "[attention] {} layer {} is [{}, {}], expected [{}, {}] for its tokens", map.kind,
        map.layer, map.queries, map.keys, queries, keys);
  check(!map.heads.empty(), "[attention] {} layer {} has no heads", map.kind, map.layer);
  for (size_t head = 0; head < map.heads.size(); ++head) {
    const std::vector<float>& weights = map.heads[head];
    check(weights.size() == queries * keys,
          "[attention] {} layer {} head {} has {} weights, expected {}", map.kind, map.layer, head,
          weights.size(), queries * keys);
    for (const float weight : weights) {
      constexpr float kMost = 1.001F;  // sums of rounded numbers
      check(weight >= 0.0F && weight <= kMost,
            "[attention] {} layer {} head {} holds the weight {}, expected 0 to 1", map.kind,
            map.layer, head, weight);
    }
  }
}

// As in RFC 4648.
std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8U | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[group >> (18U - 6U * j) & 63U] : '=';
    }
  }
  return text;
}

// Exact, and a third of the size of decimal numbers.
std::string weights_text(const std::vector<float>& weights) {
  static_assert(std::endian::native == std::endian::little);
  return base64({reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float)});
}

json labels(const std::vector<std::string>& tokens) {
  json list = json::array();
  for (const std::string& token : tokens) {
    list.push_back(printable(token));
  }
  return list;
}

std::string page_data(const AttentionDrawing& drawing, const AttentionSelection& selection) {
  json maps = json::array();
  for (const AttentionMap& map : drawing.maps) {
    json heads = json::array();
    for (const std::vector<float>& weights : map.heads) {
      heads.push_back(weights_text(weights));
    }
    maps.push_back({{"kind", map.kind},
                    {"layer", map.layer},
                    {"queries", map.queries},
                    {"keys", map.keys},
                    {"heads", std::move(heads)}});
  }
  json start = json::object();
  if (selection.kind) {
    start["kind"] = *selection.kind;
  }
  if (selection.layer) {
    start["layer"] = *selection.layer;
  }
  if (selection.head) {
    start["head"] = *selection.head;
  }
  const json data{{"title", printable(drawing.title)},
                  {"source", labels(drawing.source)},
                  {"target", labels(drawing.target)},
                  {"weights", "per head, rows of queries, float32 little-endian in base64"},
                  {"start", std::move(start)},
                  {"maps", std::move(maps)}};
  // Only a "<" could end the script element or begin a comment in it.
  std::string safe;
  for (const char c : data.dump()) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

void check_attention(const AttentionDrawing& drawing, const AttentionSelection& selection) {
  check(!drawing.maps.empty(), "[attention] there are no maps to draw");
  std::set<std::pair<std::string, int64_t>> seen;
  for (const AttentionMap& map : drawing.maps) {
    check_map(map, drawing);
    check(seen.insert({map.kind, map.layer}).second, "[attention] {} layer {} is there twice",
          map.kind, map.layer);
    const auto first =
        std::find_if(drawing.maps.begin(), drawing.maps.end(),
                     [&](const AttentionMap& other) { return other.kind == map.kind; });
    check(first->heads.size() == map.heads.size(),
          "[attention] {} layer {} has {} heads, expected {} as in layer {}", map.kind, map.layer,
          map.heads.size(), first->heads.size(), first->layer);
  }
  const auto some = [&](const auto& matches) {
    return std::any_of(drawing.maps.begin(), drawing.maps.end(), matches);
  };
  const auto of_kind = [&](const AttentionMap& map) {
    return !selection.kind || map.kind == *selection.kind;
  };
  check(some(of_kind), "[attention] there is no {} attention to draw", selection.kind.value_or(""));
  const auto of_layer = [&](const AttentionMap& map) {
    return of_kind(map) && (!selection.layer || map.layer == *selection.layer);
  };
  check(some(of_layer), "[attention] there is no layer {}, they count from 0",
        selection.layer.value_or(0));
  const auto of_head = [&](const AttentionMap& map) {
    return of_layer(map) && (!selection.head || (*selection.head >= 0 &&
                                                 std::cmp_less(*selection.head, map.heads.size())));
  };
  check(some(of_head), "[attention] there is no head {}, they count from 0",
        selection.head.value_or(0));
}

std::string render_attention_html(const AttentionDrawing& drawing,
                                  const AttentionSelection& selection) {
  check_attention(drawing, selection);
  // The page is cut at its marks once, so that a text which looks like a mark stays a text.
  const std::array<std::pair<std::string_view, std::string>, 2> fillings{
      {{"{{title}}", escape_xml(printable(drawing.title))},
       {"{{data}}", page_data(drawing, selection)}}};
  std::string_view rest = embedded::attention_html;
  std::string page;
  for (const auto& [mark, filling] : fillings) {
    const size_t at = rest.find(mark);
    check(at != std::string_view::npos, "[attention] the page has no mark {}", mark);
    page.append(rest.substr(0, at)).append(filling);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace heed::cli
