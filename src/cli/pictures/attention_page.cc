#include "cli/pictures/attention_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/encoding/base64.h"
#include "base/error.h"
#include "cli/pictures/label.h"
#include "cli/pictures/page.h"

namespace heed::embedded {
extern const std::string_view attention_html;
}  // namespace heed::embedded

namespace heed::cli {
namespace {

using nlohmann::json;

std::vector<std::string> hop_names(int64_t hops) {
  std::vector<std::string> names;
  for (int64_t hop = 0; hop < hops; ++hop) {
    names.push_back(fmt::format("hop {}", hop));
  }
  return names;
}

void check_map(const AttentionMap& map, const AttentionDrawing& drawing) {
  check(map.kind == "encoder" || map.kind == "decoder" || map.kind == "cross" || map.kind == "hops",
        "[attention] a map of kind \"{}\", expected encoder, decoder, cross or hops", map.kind);
  const AttentionSides sides = sides_of(drawing, map);
  const size_t queries = sides.queries.size();
  const size_t keys = sides.keys.size();
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

void check_pondering(const PonderRow& row, const AttentionDrawing& drawing) {
  const size_t tokens = (row.kind == "encoder" ? drawing.source : drawing.target).size();
  check(row.steps.size() == tokens, "[attention] steps of {} {} tokens, expected {}",
        row.steps.size(), row.kind, tokens);
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

json page_data(const AttentionDrawing& drawing, const AttentionSelection& selection) {
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
  json pondering = json::object();
  for (const PonderRow& row : drawing.pondering) {
    pondering[row.kind] = row.steps;
  }
  json hops = json::array();
  for (const AttentionMap& map : drawing.maps) {
    if (map.kind == "hops") {
      hops = labels(hop_names(map.queries));
    }
  }
  json data{{"title", printable(drawing.title)},
            {"hops", std::move(hops)},
            {"source", labels(drawing.source)},
            {"target", labels(drawing.target)},
            {"weights", "per head, rows of queries, float32 little-endian in base64"},
            {"start", std::move(start)},
            {"pondering", std::move(pondering)},
            {"maps", std::move(maps)}};
  return data;
}

}  // namespace

AttentionSides sides_of(const AttentionDrawing& drawing, const AttentionMap& map) {
  return {.queries = map.kind == "hops"      ? hop_names(map.queries)
                     : map.kind == "encoder" ? drawing.source
                                             : drawing.target,
          .keys = map.kind == "decoder" ? drawing.target : drawing.source};
}

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
  for (const PonderRow& row : drawing.pondering) {
    check_pondering(row, drawing);
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
  return fill_page(embedded::attention_html, drawing.title, page_data(drawing, selection));
}

}  // namespace heed::cli
