// `heed eval`: how well a language model predicts a text, or an image model pixels, and how many
// questions about stories a model answers.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "cli/shared_lines.h"
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
  double deadline = 300.0;
  bool line_end = false;
  int64_t tokens = 0;  // the first so many; 0: all
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

// Batches of work that processes take by turns. After every round of turns they meet, so that a
// process that hangs is noticed soon and one that is merely slower is never far behind.
class BatchTurns {
 public:
  explicit BatchTurns(const Group& processes) : processes_(processes) {}

  bool mine() const { return batch_ % processes_.size() == processes_.index(); }
  // After each batch of any process.
  void next() {
    if (++batch_ % processes_.size() == 0) {
      processes_.barrier();
    }
  }

 private:
  const Group& processes_;
  int64_t batch_ = 0;
};

// The mean over images, and over dimensions, which are samples.
void eval_images(const ImageModel& model, const EvalArguments& arguments, const Group& processes) {
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
  warn_skipped(processes.index() == 0 ? set.skipped : "");
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
    BatchTurns turns(processes);
    for (int64_t begin = 0; begin < set.count(); begin += batch) {
      const int64_t end = std::min(begin + batch, set.count());
      if (turns.mine()) {
        nats += image_nats(model, slice(set, begin, end), batch, factor);
      }
      turns.next();
      if (processes.index() == 0) {
        progress.show(static_cast<double>(end) / static_cast<double>(set.count()));
      }
    }
  }
  nats = processes.sum(nats);
  if (processes.index() > 0) {
    return;
  }
  const auto images = static_cast<double>(set.count());
  fmt::print("images {}, {} x {} x {}, levels {}\n", set.count(), layout.rows, layout.columns,
             layout.channels, layout.levels);
  fmt::print("{:.3f} nats per image, {:.4f} bits per dimension\n", nats / images,
             nats / images / static_cast<double>(layout.samples()) / std::numbers::ln2);
}

// Of several processes: the questions that are this one's.
StorySet part_of(const StorySet& set, const Group& processes) {
  StorySet part{.tasks = set.tasks};
  const auto step = static_cast<size_t>(processes.size());
  for (auto i = static_cast<size_t>(processes.index()); i < set.stories.size(); i += step) {
    part.stories.push_back(set.stories[i]);
    part.answers.push_back(set.answers[i]);
    part.places.push_back(set.places[i]);
  }
  return part;
}

int64_t questions_of(const StorySet& set, size_t task) {
  return std::ranges::count(set.places, static_cast<int32_t>(task), &StorySet::Place::task);
}

void eval_stories(const EvalArguments& arguments, const Group& processes) {
  const auto model = load_answerer(arguments.model, arguments.precision);
  SentenceTable table;
  StorySet set = read_story_set(story_files(arguments.files), table);
  table.encode(*model->tokenizers.source, model->model->longest());
  forget_old_facts(set, model->model->memory());
  const StorySet part = part_of(set, processes);
  StoryErrors errors =
      judge_stories(*model->model, {.table = table,
                                    .set = part,
                                    .answers = AnswerNumbers(model->config.labels),
                                    .batch_tokens = arguments.options.batch_tokens});
  for (size_t task = 0; task < set.tasks.size(); ++task) {
    const double wrong =
        std::round(errors.errors[task] * static_cast<double>(questions_of(part, task)));
    const int64_t asked = std::max<int64_t>(1, questions_of(set, task));
    errors.errors[task] = processes.sum(wrong) / static_cast<double>(asked);
  }
  if (processes.index() == 0) {
    fmt::print("{}\n", describe_errors(errors, set));
  }
}

// None: the folder is not one, which whoever opens it says.
std::optional<ModelInterface> interface_of(const std::string& folder) {
  return is_model_folder(folder) ? std::optional(load_config(folder).spec().interface)
                                 : std::nullopt;
}

std::vector<int32_t> tokens_of(const EvalArguments& arguments, const Loaded<LanguageModel>& model) {
  std::vector<int32_t> tokens = read_tokens({.files = arguments.files,
                                             .tokenizer = model.tokenizers.target,
                                             .line_end = arguments.line_end});
  if (arguments.tokens > 0 && arguments.tokens < std::ssize(tokens)) {
    tokens.resize(static_cast<size_t>(arguments.tokens));
  }
  check(tokens.size() > 1, "[eval] the text has {} tokens, expected at least 2", tokens.size());
  return tokens;
}

// Each batch has the same sum whoever measures it. Only the order in which these are added up
// depends on the number of processes: the total agrees to 1e-9 of its size at least.
Perplexity measure_together(const LanguageModel& model, std::span<const int32_t> tokens,
                            PerplexityOptions options, const Group& processes) {
  ShareProgress progress;
  BatchTurns turns(processes);
  options.turn = processes.index();
  options.turns = processes.size();
  options.progress = [&](double done) {
    turns.next();
    if (processes.index() == 0) {
      progress.show(done);
    }
  };
  const Perplexity found = measure_perplexity(model, tokens, options);
  return {.nats = processes.sum(found.nats),
          .tokens = static_cast<int64_t>(processes.sum(static_cast<double>(found.tokens)))};
}

void eval_text(const EvalArguments& arguments, const Group& processes) {
  for (const std::string& file : arguments.files) {
    check(file != "-", "[eval] give a file; standard input cannot be read twice");
  }
  std::optional<ShareProgress> reading(std::in_place);
  if (processes.index() == 0) {
    reading->doing("reading the model and the text");
  }
  const auto model = load_as<LanguageModel>(arguments.model, arguments.precision);
  const std::vector<int32_t> tokens = tokens_of(arguments, *model);
  reading.reset();
  const auto start = std::chrono::steady_clock::now();
  const Perplexity found = measure_together(*model->model, tokens, arguments.options, processes);
  if (processes.index() > 0) {
    return;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (arguments.tokens > 0) {
    fmt::print("tokens {} in {:.2f} s, {:.1f} tokens/s\n", found.tokens, seconds,
               static_cast<double>(found.tokens) / seconds);
    fmt::print("loss {:.4f} perplexity {:.3f}\n", found.loss(), std::exp(found.loss()));
    return;
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

void eval(const EvalArguments& arguments) {
  const Group processes = open_processes(arguments.deadline);
  const std::optional<ModelInterface> interface = interface_of(arguments.model);
  if (interface == ModelInterface::answering) {
    eval_stories(arguments, processes);
    return;
  }
  if (interface == ModelInterface::image) {
    ShareProgress loading;
    if (processes.index() == 0) {
      loading.doing("reading the model");
    }
    LoadedFolder loaded;
    load_folder(arguments.model, arguments.precision, loaded);
    loading.clear();
    eval_images(model_as<ImageModel>(*loaded.any, loaded.config.model), arguments, processes);
    return;
  }
  eval_text(arguments, processes);
}

void add_image_options(Command& command, EvalArguments& arguments) {
  const std::string images = "Options for image models";
  command.option("--labels", arguments.image.test_labels, "MNIST's file of labels")
      .value_name("FILE")
      .group(images);
  command
      .option("--binarise", arguments.image.binarise,
              "make pixels 0 or 1, by a threshold or by sampling once")
      .choices({"no", "threshold", "sample"})
      .show_default()
      .group(images);
  command.option("--images", arguments.images, "use only the first N images")
      .range(1, 1 << 30)
      .group(images);
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
  command
      .option("--memory", arguments->options.memory,
              "for models that remember segments: positions before it that each token sees "
              "(default: as the model says)")
      .range(0, 1 << 24);
  command
      .option("--tokens", arguments->tokens,
              "measure only the first N tokens of the text, and how long they take")
      .range(2, 1 << 30);
  command.option("--batch-tokens", arguments->options.batch_tokens, "tokens per batch")
      .range(1, 1 << 24)
      .show_default();
  command.flag("--line-end", arguments->line_end,
               "end every line with the END token instead of a newline");
  add_precision(command, arguments->precision);
  add_deadline(command, arguments->deadline);
  add_image_options(command, *arguments);
  command.example("Measure the perplexity of GPT-2",
                  "heed eval --model gpt2 --stride 512 wiki.test.raw");
  command.example("Measure a model trained line by line",
                  "heed eval --model runs/ptb --line-end ptb.test.txt.gz");
  command.example("Measure a Transformer-XL that remembers more than in training",
                  "heed eval --model runs/ptb-xl --line-end --memory 400 ptb.test.txt.gz");
  command.example("Measure an image model on MNIST",
                  "heed eval --model runs/mnist --binarise sample t10k-images-idx3-ubyte.gz");
  command.example("Measure an image model on 1,000 images of CIFAR-10",
                  "heed eval --model runs/cifar --images 1000 cifar10/test_batch.bin");
  command.example("Count the wrong answers of each task of bAbI",
                  "heed eval --model runs/babi-universal babi/test_A");
  command.example("Share the batches between four processes",
                  "mpirun -n 4 heed eval --model gpt2 --stride 512 wiki.test.raw");
  command.action([arguments] { eval(*arguments); });
}

}  // namespace heed::cli
