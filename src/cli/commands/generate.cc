// `heed generate`: text that goes on where a prompt ends, as it is made.
#include "decode/text/generate.h"

#include <fmt/core.h>

#include "base/error.h"
#include "cli/command.h"
#include "data/text/lines.h"
#include "data/text/token_windows.h"

namespace heed::cli {
namespace {

struct GenerateArguments {
  std::string model;
  std::string prompt;
  std::string prompt_file;
  std::string prompts;
  std::optional<DType> precision;
  GenerateOptions options;
  int64_t n = 1;
  int64_t batch = 8;
  bool only_new = false;
  bool summarise = false;
};

std::vector<int32_t> prompt_ids(const LoadedLanguageModel& model,
                                const GenerateArguments& arguments, const std::string& text) {
  const Tokenizer& tokenizer = *model.tokenizers.target;
  if (!arguments.summarise) {
    return encode_prompt(tokenizer, text);
  }
  std::vector<int32_t> ids = tokenizer.encode(text);
  ids.push_back(separator_of(tokenizer));
  return ids;
}

const char* name_of(GenerateEnd end) {
  return end == GenerateEnd::length ? "length" : end == GenerateEnd::end_token ? "end" : "stop";
}

void warn_of_forgotten(const Generated& result, int64_t context, const std::string& which) {
  if (result.forgotten > 0) {
    fmt::print(
        stderr,
        "heed: {}the model looks at {} tokens at most; the first {} were dropped on the way\n",
        which, context, result.forgotten);
  }
}

// One prompt: streamed. Several answers follow each other, numbered.
void generate_one(const LoadedLanguageModel& model, const GenerateArguments& arguments,
                  const std::string& prompt) {
  const std::vector<int32_t> ids = prompt_ids(model, arguments, prompt);
  for (int64_t sample = 0; sample < arguments.n; ++sample) {
    if (arguments.n > 1) {
      fmt::print("{}--- {}\n", sample > 0 ? "\n" : "", sample + 1);
    }
    fmt::print("{}", arguments.only_new || arguments.summarise ? "" : prompt);
    std::fflush(stdout);
    const GenerateRequest request{ids, static_cast<uint64_t>(sample)};
    const auto results = generate(model, std::span(&request, 1), arguments.options,
                                  {.text = [](size_t /*request*/, const std::string& text) {
                                    fmt::print("{}", text);
                                    std::fflush(stdout);
                                  }});
    fmt::print("\n");
    warn_of_forgotten(results.front(), model.model->context(), "");
  }
}

// A prompt a line: in batches, one JSON object for each answer.
void generate_lines(const LoadedLanguageModel& model, const GenerateArguments& arguments) {
  LineReader lines(arguments.prompts);
  std::vector<GenerateRequest> requests;
  std::vector<std::string> texts;
  int64_t first = 1;
  const auto flush = [&] {
    const std::vector<Generated> results = generate(model, requests, arguments.options);
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t line = first + static_cast<int64_t>(i) / arguments.n;
      warn_of_forgotten(results[i], model.model->context(), fmt::format("line {}: ", line));
      const Json json{{"line", line},
                      {"prompt", texts[i]},
                      {"text", results[i].text},
                      {"tokens", results[i].ids.size()},
                      {"end", name_of(results[i].end)}};
      fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    std::fflush(stdout);
    first += static_cast<int64_t>(requests.size()) / arguments.n;
    requests.clear();
    texts.clear();
  };
  for (std::string line; lines.next(line);) {
    for (int64_t sample = 0; sample < arguments.n; ++sample) {
      requests.push_back({prompt_ids(model, arguments, line), static_cast<uint64_t>(sample)});
      texts.push_back(line);
    }
    if (static_cast<int64_t>(requests.size()) >= arguments.batch * arguments.n) {
      flush();
    }
  }
  flush();
}

void run(const GenerateArguments& arguments) {
  const int given = (arguments.prompt.empty() ? 0 : 1) + (arguments.prompt_file.empty() ? 0 : 1) +
                    (arguments.prompts.empty() ? 0 : 1);
  check(given <= 1, "[generate] --prompt, --prompt-file and --prompts exclude each other");
  check_sampling(arguments.options.sampling);
  const auto model = load_as<LanguageModel>(arguments.model, arguments.precision);
  if (!arguments.prompts.empty()) {
    generate_lines(*model, arguments);
    return;
  }
  generate_one(*model, arguments,
               arguments.prompt_file.empty() ? arguments.prompt : read_text(arguments.prompt_file));
}

}  // namespace

void add_generate(Command& app) {
  auto arguments = std::make_shared<GenerateArguments>();
  Command command = app.subcommand("generate", "Continue a text with a language model");
  command.option("--model", arguments->model, "model folder, also Hugging Face's").required();
  command.option("--prompt", arguments->prompt, "text to go on from");
  command.option("--prompt-file", arguments->prompt_file, "file that is the prompt; -: stdin");
  command.option("--prompts", arguments->prompts, "file with a prompt a line: JSONL comes out");
  command.option("--n", arguments->n, "answers to each prompt").range(1, 10000).show_default();
  command.option("--batch", arguments->batch, "lines of --prompts worked on together")
      .range(1, 4096)
      .show_default();
  add_precision(command, arguments->precision);
  command.flag("--only-new", arguments->only_new, "do not print the prompt");
  command.flag("--summarise", arguments->summarise,
               "say what follows the prompt and a separator, as the task summarise teaches");
  GenerateOptions& options = arguments->options;
  command.option("--max-tokens", options.max_tokens, "stop after so many tokens")
      .range(1, 1 << 30)
      .show_default();
  add_sampling(command, options.sampling);
  command.option("--seed", options.seed, "same seed, same text").show_default();
  command.option("--stop", options.stop, "text that ends it, and is not printed").one_at_a_time();
  command.flag("--ignore-end", options.ignore_end, "go on after the END token");
  command.footer(
      "Examples:\n"
      "  heed generate --model gpt2 --prompt 'The meaning of life is' --max-tokens 50\n"
      "  heed generate --model runs/shakespeare --prompt 'ROMEO:' --temperature 0.8 --top-k 50\n"
      "  heed generate --model gpt2 --prompts questions.txt --stop '\\n' > answers.jsonl\n"
      "  heed generate --model runs/summaries --summarise --temperature 0 --prompt-file long.txt");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
