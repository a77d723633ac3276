// `heed ask`: answers to questions about stories, and which sentences they come from.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/story_picture.h"
#include "data/text/stories.h"
#include "decode/stories/answer.h"

namespace heed::cli {
namespace {

constexpr size_t kQuestionPool = 256;

struct AskArguments {
  std::string model;
  std::string file = "-";
  std::optional<DType> precision;
  bool probabilities = false;
  bool facts = false;
  std::string output;
};

// The places of the largest values, the largest first.
std::vector<size_t> largest(const std::vector<float>& values, size_t most) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

// Layers look at the question too, hops of a memory network at facts alone.
const char* look_name(const LoadedAnswerer& model) {
  return model.spec().kind == "memory_network" ? "hop" : "layer";
}

void print_answer(const LoadedAnswerer& model, const AskArguments& arguments,
                  const Answered& answered) {
  constexpr size_t kLikeliest = 5;
  fmt::print("{}", model.config.labels[answered.best]);
  if (arguments.probabilities) {
    for (const size_t i : largest(answered.probabilities, kLikeliest)) {
      fmt::print("\t{}={:.4f}", model.config.labels[i], answered.probabilities[i]);
    }
  }
  fmt::print("\n");
}

void print_facts(const LoadedAnswerer& model, const Story& story, const Answered& answered) {
  constexpr size_t kMostFacts = 3;
  constexpr float kLeast = 0.05F;
  for (const FactAttention& look : answered.looks) {
    fmt::print("  {} {}:", look_name(model), look.layer + 1);
    for (const size_t i : largest(look.facts, kMostFacts)) {
      if (look.facts[i] >= kLeast) {
        fmt::print(" {:.2f} \"{}\"", look.facts[i], story.facts[i]);
      }
    }
    if (look.question >= kLeast) {
      fmt::print(" {:.2f} the question", look.question);
    }
    fmt::print("\n");
  }
  if (!answered.fact_steps.empty() || answered.question_steps > 0.0F) {
    fmt::print("  steps:");
    for (const float steps : answered.fact_steps) {
      fmt::print(" {:.0f}", steps);
    }
    fmt::print(", the question {:.0f}\n", answered.question_steps);
  }
}

StoryDrawing drawing_of(const LoadedAnswerer& model, const Story& story, const Answered& answered) {
  const bool with_question = model.spec().kind != "memory_network";
  StoryDrawing drawing{.title = story.question + " " + model.config.labels[answered.best],
                       .rows = story.facts,
                       .columns = {}};
  if (with_question) {
    drawing.rows.push_back(story.question);
  }
  for (const FactAttention& look : answered.looks) {
    StoryColumn column{fmt::format("{} {}", look_name(model), look.layer + 1), look.facts};
    if (with_question) {
      column.shares.push_back(look.question);
    }
    drawing.columns.push_back(std::move(column));
  }
  if (answered.question_steps > 0.0F) {
    drawing.steps = answered.fact_steps;
    drawing.steps.push_back(answered.question_steps);
  }
  return drawing;
}

void draw_answers(const AskArguments& arguments, const std::vector<StoryDrawing>& drawings) {
  for (size_t i = 0; i < drawings.size(); ++i) {
    const std::filesystem::path file = numbered_path(arguments.output, i + 1, drawings.size());
    write_file(file, file.extension() == ".svg" ? render_story_svg(drawings[i])
                                                : render_story_png(drawings[i]));
  }
}

void ask(const AskArguments& arguments) {
  constexpr size_t kMostPictures = 1000;
  if (!arguments.output.empty()) {
    check_output("--output", arguments.output, {".svg", ".png"});
  }
  const auto model = load_answerer(arguments.model, arguments.precision);
  StoryLines lines(arguments.file);
  const AnswerOptions options{.look = arguments.facts || !arguments.output.empty()};
  std::vector<StoryDrawing> drawings;
  bool asked_any = false;
  for (std::vector<Story> pool; lines.next_pool(kQuestionPool, pool);) {
    asked_any = true;
    std::vector<AskedQuestion> questions;
    for (const Story& story : pool) {
      questions.push_back({story.facts, story.question});
    }
    const std::vector<Answered> answers = answer(*model, questions, options);
    for (size_t i = 0; i < pool.size(); ++i) {
      print_answer(*model, arguments, answers[i]);
      if (arguments.facts) {
        print_facts(*model, pool[i], answers[i]);
      }
      if (!arguments.output.empty() && !pool[i].facts.empty()) {
        drawings.push_back(drawing_of(*model, pool[i], answers[i]));
        check(drawings.size() <= kMostPictures, "[ask] --output draws at most {} questions",
              kMostPictures);
      }
    }
    std::fflush(stdout);
  }
  check(asked_any, "[ask] {} has no question: a question is a line that ends with a question mark",
        lines.name());
  draw_answers(arguments, drawings);
}

}  // namespace

void add_ask(Command& app) {
  auto arguments = std::make_shared<AskArguments>();
  Command command = app.subcommand("ask", "Answer questions about stories");
  command.group("Text");
  command.option("FILE", arguments->file,
                 "a fact or a question on each line, an empty line before a new story, or stories "
                 "as bAbI numbers them (default: standard input)");
  add_model(command, arguments->model);
  add_precision(command, arguments->precision);
  command.flag("--probabilities", arguments->probabilities,
               "print the likeliest answers with their probabilities");
  command.flag("--facts", arguments->facts,
               "print which facts each hop or layer looks at, and how long each was thought about");
  command
      .option("--output", arguments->output,
              "picture of what each hop or layer looks at: FILE.svg or FILE.png; numbered if there "
              "are several questions")
      .value_name("FILE");
  command.footer(
      "A line that ends with a question mark is a question about the facts above it; what follows "
      "it behind a tab is left alone. Each question gets one line of output, its answer.");
  command.example("Answer the questions of a file",
                  "heed ask --model runs/babi-universal story.txt");
  command.example("Ask one question, and see which facts the answer comes from",
                  "printf 'Mary went to the garden.\\nWhere is Mary?\\n' | heed ask --model "
                  "runs/babi-memory --facts");
  command.example("Draw what each hop looks at",
                  "heed ask --model runs/babi-memory --output hops.svg story.txt");
  command.action([arguments] { ask(*arguments); });
}

}  // namespace heed::cli
