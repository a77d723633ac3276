// `heed eval`: how well a language model predicts a text, or an image model pixels, and how many
// questions about stories a model answers.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "data/text/stories.h"
#include "data/text/token_windows.h"
#include "decode/stories/answer.h"
#include "decode/stories/judge.h"
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
  check(
      model.classes() == 0 || !set.labels.empty(),
      "[eval] the model draws by class, but the images have no labels: give --labels, or a folder "
      "of PNG files with a folder per class");
  const int64_t factor = model.source().rows > 0 ? layout.rows / model.source().rows : 0;
  const int64_t batch = std::max<int64_t>(1, arguments.options.batch_tokens / layout.samples());
  double nats = 0.0;
  {
    ShareProgress progress;
    for (int64_t begin = 0; begin < set.count(); begin += batch) {
      const int64_t end = std::min(begin + batch, set.count());
      nats += image_nats(model, slice(set, begin, end), batch, factor);
      progress.show(static_cast<double>(end) / static_cast<double>(set.count()));
    }
  }
  const auto images = static_cast<double>(set.count());
  fmt::print("images {}, {} x {} x {}, levels {}\n", set.count(), layout.rows, layout.columns,
             layout.channels, layout.levels);
  fmt::print("{:.3f} nats per image, {:.4f} bits per dimension\n", nats / images,
             nats / images / static_cast<double>(layout.samples()) / std::numbers::ln2);
}

void eval_stories(const EvalArguments& arguments) {
  const auto model = load_answerer(arguments.model, arguments.precision);
  SentenceTable table;
  StorySet set = read_story_set(story_files(arguments.files), table);
  table.encode(*model->tokenizers.source, model->model->longest());
  forget_old_facts(set, model->model->memory());
  const StoryErrors errors =
      judge_stories(*model->model, {.table = table,
                                    .set = set,
                                    .answers = AnswerNumbers(model->config.labels),
                                    .batch_tokens = arguments.options.batch_tokens});
  fmt::print("{}\n", describe_errors(errors, set));
}

// None: the folder is not one, which whoever opens it says.
std::optional<ModelInterface> interface_of(const std::string& folder) {
  return is_model_folder(folder) ? std::optional(load_config(folder).spec().interface)
                                 : std::nullopt;
}

void eval(const EvalArguments& arguments) {
  const std::optional<ModelInterface> interface = interface_of(arguments.model);
  if (interface == ModelInterface::answering) {
    eval_stories(arguments);
    return;
  }
  if (interface == ModelInterface::image) {
    ShareProgress loading;
    loading.doing("reading the model");
    LoadedFolder loaded;
    load_folder(arguments.model, arguments.precision, loaded);
    loading.clear();
    eval_images(model_as<ImageModel>(*loaded.any, loaded.config.model), arguments);
    return;
  }
  for (const std::string& file : arguments.files) {
    check(file != "-", "[eval] give a file; standard input cannot be read twice");
  }
  std::optional<ShareProgress> reading(std::in_place);
  reading->doing("reading the model and the text");
  const auto model = load_as<LanguageModel>(arguments.model, arguments.precision);
  const std::vector<int32_t> tokens = read_tokens({.files = arguments.files,
                                                   .tokenizer = model->tokenizers.target,
                                                   .line_end = arguments.line_end});
  reading.reset();
  check(tokens.size() > 1, "[eval] the text has {} tokens, expected at least 2", tokens.size());
  Perplexity found;
  {
    ShareProgress progress;
    PerplexityOptions options = arguments.options;
    options.progress = [&](double done) { progress.show(done); };
    found = measure_perplexity(*model->model, tokens, options);
  }
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
      app.subcommand("eval", "Measure the loss or the errors of a model on held-out data");
  command.group("Train and evaluate");
  command
      .option("FILE", arguments->files,
              "text, plain or gzip; for image models, files of MNIST or CIFAR-10, or a folder of "
              "PNG files; for models that answer questions, files of stories or folders of them")
      .required();
  add_model(command, arguments->model);
  command
      .option("--length", arguments->options.length,
              "context length in tokens (default: the model's maximum)")
      .range(1, 1 << 30);
  command
      .option("--stride", arguments->options.stride,
              "tokens from one window to the next; a smaller stride gives each token more context "
              "(default: the length)")
      .range(1, 1 << 30);
  command.option("--batch-tokens", arguments->options.batch_tokens, "tokens per batch")
      .range(1, 1 << 24)
      .show_default();
  command.flag("--line-end", arguments->line_end,
               "end every line with the END token instead of a newline");
  add_precision(command, arguments->precision);
  const std::string images = "Options for image models";
  command.option("--labels", arguments->image.test_labels, "MNIST's file of labels")
      .value_name("FILE")
      .group(images);
  command
      .option("--binarise", arguments->image.binarise,
              "make pixels 0 or 1, by a threshold or by sampling once")
      .choices({"no", "threshold", "sample"})
      .show_default()
      .group(images);
  command.option("--images", arguments->images, "use only the first N images")
      .range(1, 1 << 30)
      .group(images);
  command.example("Measure the perplexity of GPT-2",
                  "heed eval --model gpt2 --stride 512 wiki.test.raw");
  command.example("Measure a model trained line by line",
                  "heed eval --model runs/ptb --line-end ptb.test.txt.gz");
  command.example("Measure an image model on MNIST",
                  "heed eval --model runs/mnist --binarise sample t10k-images-idx3-ubyte.gz");
  command.example("Measure an image model on 1,000 images of CIFAR-10",
                  "heed eval --model runs/cifar --images 1000 cifar10/test_batch.bin");
  command.example("Count the wrong answers of each task of bAbI",
                  "heed eval --model runs/babi-universal babi/test_A");
  command.action([arguments] { eval(*arguments); });
}

}  // namespace heed::cli
