// `heed eval`: how well a language model foresees a text, or a model of images their samples.
#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "cli/command.h"
#include "data/text/token_windows.h"
#include "decode/text/perplexity.h"
#include "models/folder.h"
#include "tasks/image_task.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct EvalArguments {
  std::string model;
  std::vector<std::string> files;
  std::optional<DType> precision;
  bool line_end = false;
  PerplexityOptions options;
  ImageDataConfig image;
  int64_t images = 0;  // the first so many; 0: all
};

struct TextSize {
  int64_t characters = 0;
  int64_t bytes = 0;
  int64_t words = 0;
};

TextSize size_of(const std::vector<std::string>& files) {
  TextSize size;
  for (const std::string& file : files) {
    const std::string text = read_text(file);
    size.bytes += std::ssize(text);
    bool inside = false;
    for (const CodePoint& c : CodePoints(text)) {
      ++size.characters;
      size.words += !inside && !is_space(c.value) ? 1 : 0;
      inside = !is_space(c.value);
    }
  }
  return size;
}

// The mean over images, and over dimensions, which are samples.
void eval_images(const ImageModel& model, const EvalArguments& arguments) {
  const ImageLayout& layout = model.layout();
  ImageDataConfig data = arguments.image;
  data.test = arguments.files;
  data.rows = layout.rows;
  data.columns = layout.columns;
  data.grey = layout.channels == 1;
  data.levels = data.binarise == "no" ? layout.levels : 256;
  ImageSet set = read_images(data).test;
  if (arguments.images > 0 && arguments.images < set.count()) {
    set = slice(set, 0, arguments.images);
  }
  warn_skipped(set.skipped);
  check(
      set.levels == layout.levels && set.channels == layout.channels,
      "[eval] the images have {} channels of {} levels, the model {} of {}; is --binarise missing?",
      set.channels, set.levels, layout.channels, layout.levels);
  const int64_t factor = model.source().rows > 0 ? layout.rows / model.source().rows : 0;
  const int64_t batch = std::max<int64_t>(1, arguments.options.batch_tokens / layout.samples());
  const double nats = image_nats(model, set, batch, factor);
  const auto images = static_cast<double>(set.count());
  fmt::print("images {}, {} x {} x {}, levels {}\n", set.count(), layout.rows, layout.columns,
             layout.channels, layout.levels);
  fmt::print("{:.3f} nats an image, {:.4f} bits a dimension\n", nats / images,
             nats / images / static_cast<double>(layout.samples()) / std::numbers::ln2);
}

void eval(const EvalArguments& arguments) {
  if (is_model_folder(arguments.model) &&
      load_config(arguments.model).spec().interface == ModelInterface::image) {
    LoadedFolder loaded;
    load_folder(arguments.model, arguments.precision, loaded);
    eval_images(model_as<ImageModel>(*loaded.any, loaded.config.model), arguments);
    return;
  }
  for (const std::string& file : arguments.files) {
    check(file != "-", "[eval] the text is read twice, so it must be a file, not standard input");
  }
  const auto model = load_as<LanguageModel>(arguments.model, arguments.precision);
  const std::vector<int32_t> tokens = read_tokens({.files = arguments.files,
                                                   .tokenizer = model->tokenizers.target,
                                                   .line_end = arguments.line_end});
  check(tokens.size() > 1, "[eval] the text has {} tokens, expected at least 2", tokens.size());
  const Perplexity found = measure_perplexity(*model->model, tokens, arguments.options);
  const TextSize size = size_of(arguments.files);
  const double bits = found.nats / std::log(2.0);
  fmt::print("tokens {}, characters {}, bytes {}, words {}\n", found.tokens, size.characters,
             size.bytes, size.words);
  fmt::print("loss {:.4f} perplexity {:.3f}\n", found.loss(), std::exp(found.loss()));
  fmt::print("bits per character {:.4f}, per byte {:.4f}; perplexity per word {:.2f}\n",
             bits / static_cast<double>(size.characters), bits / static_cast<double>(size.bytes),
             std::exp(found.nats / static_cast<double>(std::max<int64_t>(size.words, 1))));
}

}  // namespace

void add_eval(Command& app) {
  auto arguments = std::make_shared<EvalArguments>();
  Command command =
      app.subcommand("eval", "Measure a model of text or of images: loss, perplexity, bits");
  command
      .option("FILES", arguments->files,
              "text, plain or gzip; or MNIST's or CIFAR's files, or a folder of PNG files")
      .required();
  command.option("--model", arguments->model, "model folder, also Hugging Face's").required();
  command
      .option("--length", arguments->options.length,
              "tokens looked at together (default: all that the model can)")
      .range(1, 1 << 30);
  command
      .option("--stride", arguments->options.stride,
              "how far a window moves on; smaller gives every token more to look back at "
              "(default: the length)")
      .range(1, 1 << 30);
  command.option("--batch-tokens", arguments->options.batch_tokens, "tokens worked on together")
      .range(1, 1 << 24)
      .show_default();
  command.option("--labels", arguments->image.test_labels, "MNIST's file of labels");
  command
      .option("--binarise", arguments->image.binarise,
              "images: samples become 0 or 1, by a threshold or drawn once and for all")
      .choices({"no", "threshold", "sample"})
      .show_default();
  command.option("--images", arguments->images, "only the first so many images").range(1, 1 << 30);
  add_precision(command, arguments->precision);
  command.flag("--line-end", arguments->line_end,
               "an END token behind every line instead of a line end");
  command.footer(
      "Examples:\n"
      "  heed eval --model gpt2 --stride 512 wiki.test.raw\n"
      "  heed eval --model runs/ptb --line-end ptb.test.txt.gz\n"
      "  heed eval --model runs/mnist --binarise sample t10k-images-idx3-ubyte.gz\n"
      "  heed eval --model runs/cifar --images 1000 cifar10/test_batch.bin");
  command.action([arguments] { eval(*arguments); });
}

}  // namespace heed::cli
