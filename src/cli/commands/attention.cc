// `heed attention`: what every head of every layer looks at, as a page or a picture.
#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/attention_page.h"
#include "decode/text/text_attention.h"

namespace heed::cli {
namespace {

struct AttentionArguments {
  std::string model;
  std::string source;
  std::string target;
  std::string output;
  std::string kind;
  int64_t layer = -1;
  int64_t head = -1;
  int64_t beam = 4;
};

AttentionMap to_map(const LayerAttention& layer) {
  AttentionMap map{.kind = layer.kind,
                   .layer = layer.layer,
                   .heads = {},
                   .queries = layer.weights.dim(2),
                   .keys = layer.weights.dim(3)};
  const int64_t size = map.queries * map.keys;
  for (int64_t head = 0; head < layer.weights.dim(1); ++head) {
    const float* begin = layer.weights.data<float>() + head * size;
    map.heads.emplace_back(begin, begin + size);
  }
  return map;
}

AttentionDrawing look(const LoadedFolder& model, const AttentionArguments& arguments) {
  check(!model.tokenizers.source->encode(arguments.source).empty(),
        "[attention] --source is empty");
  const TextAttention found = attention_of_text(
      model, {.text = arguments.source, .second = arguments.target, .beam = arguments.beam});
  // The page has both texts of a translation anyway.
  const bool pair = found.target.empty() && !arguments.target.empty();
  AttentionDrawing drawing{.title = arguments.source + (pair ? " | " + arguments.target : ""),
                           .source = found.source,
                           .target = found.target,
                           .maps = {}};
  for (const LayerAttention& layer : found.maps) {
    drawing.maps.push_back(to_map(layer));
  }
  for (const Pondering& row : found.pondering) {
    const std::span<const float> steps = row.steps.span<float>();
    drawing.pondering.push_back({row.kind, {steps.begin(), steps.end()}});
  }
  return drawing;
}

void attention(const AttentionArguments& arguments) {
  check_output("--output", arguments.output, {".html", ".svg", ".png"});
  LoadedFolder model;
  load_folder(arguments.model, DType::f32, model);
  const AttentionDrawing drawing = look(model, arguments);
  AttentionSelection selection;
  if (!arguments.kind.empty()) {
    selection.kind = arguments.kind;
  }
  if (arguments.layer >= 0) {
    selection.layer = arguments.layer;
  }
  if (arguments.head >= 0) {
    selection.head = arguments.head;
  }
  const std::string extension = std::filesystem::path(arguments.output).extension();
  write_file(arguments.output, extension == ".html"  ? render_attention_html(drawing, selection)
                               : extension == ".svg" ? render_attention_svg(drawing, selection)
                                                     : render_attention_png(drawing, selection));
  fmt::print("{}: {} maps of {} source and {} target tokens\n", arguments.output,
             drawing.maps.size(), drawing.source.size(), drawing.target.size());
}

}  // namespace

void add_attention(Command& app) {
  auto arguments = std::make_shared<AttentionArguments>();
  Command command =
      app.subcommand("attention", "Draw the attention weights of every layer and head");
  command.group("Text");
  add_model(command, arguments->model);
  command.option("--source", arguments->source, "text to feed to the model").required();
  command.option("--target", arguments->target,
                 "its translation (default: the model's own); for an encoder, the second text");
  command.option("--kind", arguments->kind, "show only this kind of attention (default: all)")
      .choices({"encoder", "decoder", "cross", "hops"});
  command.option("--layer", arguments->layer, "show only layer N, counted from 0").not_negative();
  command.option("--head", arguments->head, "show only head N, counted from 0").not_negative();
  command
      .option("--output", arguments->output,
              "page or picture to write: FILE.html, FILE.svg or FILE.png")
      .value_name("FILE")
      .required();
  command.example("Draw the attention of a translation as an interactive page",
                  "heed attention --model runs/demo --source Hello. --output look.html");
  command.example("Draw one head of the cross-attention as a picture",
                  "heed attention --model runs/demo --source 'The animal was tired.' --kind cross "
                  "--layer 2 --head 0 --output look.svg");
  command.example("Look into GPT-2",
                  "heed attention --model gpt2 --source 'The cat sat on the mat because it' "
                  "--output gpt.html");
  command.example("Look into BERT, with two texts",
                  "heed attention --model bert-base-uncased --source 'How old are you?' "
                  "--target 'I am six.' --output bert.html");
  command.action([arguments] { attention(*arguments); });
}

}  // namespace heed::cli
