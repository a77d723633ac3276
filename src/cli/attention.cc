// `heed attention`: what every head of every layer looks at, as a page or a picture.
#include <fmt/core.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "cli/attention_page.h"
#include "cli/command.h"
#include "decode/embed.h"
#include "decode/translator.h"

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

std::vector<std::string> pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> texts;
  for (const int32_t id : ids) {
    texts.push_back(tokenizer.piece(id));
  }
  return texts;
}

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

// Target ids: those given, or the model's own translation.
std::vector<int32_t> target_ids(const LoadedFolder& model, const Seq2SeqModel& translator,
                                const AttentionArguments& arguments,
                                const std::vector<int32_t>& source) {
  if (!arguments.target.empty()) {
    return model.tokenizers.target->encode(arguments.target);
  }
  const std::vector<DecodeRequest> requests{{source}};
  const auto decoded = decode_batch(translator, requests,
                                    {.beam = arguments.beam,
                                     .special = model.tokenizers.target->special(),
                                     .vocabulary = model.tokenizers.target->size()});
  return decoded.front().front().ids;
}

using Maps = std::vector<LayerAttention>;

AttentionDrawing look_at(const LoadedFolder& model, const Seq2SeqModel& translator,
                         const AttentionArguments& arguments, Maps& maps) {
  const std::vector<int32_t> source = model.encode_source(arguments.source);
  std::vector<int32_t> input = target_ids(model, translator, arguments, source);
  input.insert(input.begin(), model.tokenizers.target->special().start);
  const auto source_length = static_cast<int64_t>(source.size());
  const auto target_length = static_cast<int64_t>(input.size());
  const std::vector<int32_t> lengths{static_cast<int32_t>(source_length)};
  const std::vector<int32_t> target_lengths{static_cast<int32_t>(target_length)};
  const Tensor target = Tensor::from_ints(input, {1, target_length});
  translator.logits({.source = Tensor::from_ints(source, {1, source_length}),
                     .source_lengths = Tensor::from_ints(lengths, {1}),
                     .input = target,
                     .target = target,
                     .target_lengths = Tensor::from_ints(target_lengths, {1})},
                    &maps);
  return {.title = arguments.source,
          .source = pieces(*model.tokenizers.source, source),
          .target = pieces(*model.tokenizers.target, input),
          .maps = {}};
}

AttentionDrawing look_at(const LoadedFolder& model, const LanguageModel& language,
                         const AttentionArguments& arguments, Maps& maps) {
  const std::vector<int32_t> ids = model.tokenizers.target->encode(arguments.source);
  language.logits(Tensor::from_ints(ids, {1, std::ssize(ids)}), &maps);
  return {.title = arguments.source,
          .source = {},
          .target = pieces(*model.tokenizers.target, ids),
          .maps = {}};
}

// One text, or with --target a pair.
AttentionDrawing look_at(const LoadedFolder& model, const TextEncoder& encoder,
                         const AttentionArguments& arguments, Maps& maps) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  std::optional<std::vector<int32_t>> second;
  if (!arguments.target.empty()) {
    second = tokenizer.encode(arguments.target);
  }
  const std::vector<EncodedText> texts{
      join_texts(tokenizer, tokenizer.encode(arguments.source), second, encoder.longest())};
  const int64_t only = 0;
  encoder.hidden(to_tensors(pad_texts(texts, std::span(&only, 1), tokenizer.special().pad)), &maps);
  return {.title = arguments.source + (second ? " | " + arguments.target : ""),
          .source = pieces(tokenizer, texts.front().tokens),
          .target = {},
          .maps = {}};
}

AttentionDrawing look(const LoadedFolder& model, const AttentionArguments& arguments) {
  check(!model.tokenizers.source->encode(arguments.source).empty(),
        "[attention] --source is empty");
  Maps maps;
  AttentionDrawing drawing;
  if (const auto* translator = dynamic_cast<const Seq2SeqModel*>(model.any.get())) {
    drawing = look_at(model, *translator, arguments, maps);
  } else if (const auto* language = dynamic_cast<const LanguageModel*>(model.any.get())) {
    drawing = look_at(model, *language, arguments, maps);
  } else {
    drawing =
        look_at(model, model_as<TextEncoder>(*model.any, model.config.model), arguments, maps);
  }
  for (const LayerAttention& layer : maps) {
    drawing.maps.push_back(to_map(layer));
  }
  check(!drawing.maps.empty(), "[attention] this model has no attention to look at");
  return drawing;
}

void attention(const AttentionArguments& arguments) {
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
  check(extension == ".html" || extension == ".svg" || extension == ".png",
        "[attention] --output is {}, expected a name that ends in .html, .svg or .png",
        arguments.output);
  write_file(arguments.output, extension == ".html"  ? render_attention_html(drawing, selection)
                               : extension == ".svg" ? render_attention_svg(drawing, selection)
                                                     : render_attention_png(drawing, selection));
  fmt::print("{}: {} maps of {} source and {} target tokens\n", arguments.output,
             drawing.maps.size(), drawing.source.size(), drawing.target.size());
}

}  // namespace

void add_attention(CLI::App& app) {
  auto arguments = std::make_shared<AttentionArguments>();
  CLI::App* command = app.add_subcommand("attention", "Draw what each layer and head looks at");
  command->add_option("--model", arguments->model, "model folder")->required();
  command->add_option("--source", arguments->source, "text to look at")->required();
  command->add_option("--target", arguments->target,
                      "its translation (default: the model's own); for BERT the second text");
  command->add_option("--kind", arguments->kind, "encoder, decoder or cross (default: all)")
      ->check(CLI::IsMember({"encoder", "decoder", "cross"}));
  command->add_option("--layer", arguments->layer, "only this layer, from 0");
  command->add_option("--head", arguments->head, "only this head, from 0");
  command->add_option("--output", arguments->output, "FILE.html, FILE.svg or FILE.png")->required();
  command->footer(
      "Examples:\n"
      "  heed attention --model runs/demo --source 'The animal was tired.' --output look.html\n"
      "  heed attention --model runs/demo --source 'Hello.' --kind cross --layer 2 --head 0 "
      "--output look.svg\n"
      "  heed attention --model gpt2 --source 'The cat sat on the mat because it' --output "
      "gpt.html\n"
      "  heed attention --model bert-base-uncased --source 'How old are you?' --target 'I am six.' "
      "--output bert.html");
  command->callback([arguments] { attention(*arguments); });
}

}  // namespace heed::cli
