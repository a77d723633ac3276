// `heed generate`: text that goes on where a prompt ends, as it is made.
#include "decode/text/generate.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "cli/command.h"
#include "data/text/lines.h"
#include "data/text/token_windows.h"
#include "decode/speculation/draft.h"
#include "decode/speculation/proposing_heads.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct GenerateArguments {
  std::string model;
  std::string prompt;
  std::string prompt_file;
  std::string prompts;
  std::optional<DType> precision;
  GenerateOptions options;
  std::string decoding;
  std::string draft;
  int64_t draft_tokens = 4;
  int64_t n = 1;
  int64_t batch = 8;
  bool only_new = false;
  bool summarise = false;
};

// What the tokenizer has no token for reaches the model as UNK, which the user has to know.
void warn_of_unknown(const Tokenizer& tokenizer, const std::string& prompt,
                     const std::string& which) {
  constexpr size_t kShown = 10;
  const Encoding encoding = tokenizer.encode_with_offsets(prompt);
  std::vector<std::string> unknown;  // each once
  size_t count = 0;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.ids[i] != tokenizer.special().unk) {
      continue;
    }
    const TextRange& range = encoding.ranges[i];
    for (const CodePoint& c :
         CodePoints(std::string_view(prompt).substr(range.begin, range.end - range.begin))) {
      const std::string character = fmt::format("\"{}\"", to_utf8(c.value));
      ++count;
      if (std::find(unknown.begin(), unknown.end(), character) == unknown.end()) {
        unknown.push_back(character);
      }
    }
  }
  if (count > 0) {
    const size_t shown = std::min(unknown.size(), kShown);
    fmt::print(stderr, "heed: {}{} of the prompt {} not in the vocabulary: {}{}\n", which,
               count == 1 ? "1 character" : fmt::format("{} characters", count),
               count == 1 ? "is" : "are",
               fmt::join(unknown.begin(), unknown.begin() + static_cast<int64_t>(shown), " "),
               shown < unknown.size() ? " ..." : "");
  }
}

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
    fmt::print(stderr, "heed: {}the context is {} tokens; the oldest {} were dropped\n", which,
               context, result.forgotten);
  }
}

// A model, perhaps with one that runs ahead of it, and how far that came.
struct Generation {
  const LoadedLanguageModel& model;
  std::unique_ptr<LoadedLanguageModel> draft = {};
  bool speculates = false;
  TextRows rows;
  int64_t tokens = 0;
  int64_t passes = 0;

  std::vector<Generated> run(std::span<const GenerateRequest> requests,
                             const GenerateOptions& options,
                             const GenerateCallbacks& callbacks = {}) {
    std::vector<Generated> results = generate(rows, requests, options, callbacks);
    for (const Generated& result : results) {
      tokens += std::ssize(result.ids) + (result.end == GenerateEnd::end_token ? 1 : 0);
      passes += result.passes;
    }
    return results;
  }
  void report() const {
    if (speculates && passes > 0) {
      fmt::print(stderr, "heed: {} tokens in {} passes of the model, {:.2f} each\n", tokens, passes,
                 static_cast<double>(tokens) / static_cast<double>(passes));
    }
  }
};

std::unique_ptr<Generation> begin_generation(const LoadedLanguageModel& model,
                                             const GenerateArguments& arguments) {
  std::unique_ptr<LoadedLanguageModel> draft;
  if (!arguments.draft.empty()) {
    draft = load_as<LanguageModel>(arguments.draft, arguments.precision);
    check_same_vocabulary({arguments.model, *model.tokenizers.target},
                          {arguments.draft, *draft->tokenizers.target});
  }
  const bool heads = arguments.decoding == "blockwise" ||
                     (arguments.decoding.empty() && has_proposing_heads(*model.model));
  check(arguments.draft.empty() || arguments.decoding != "blockwise",
        "--draft does not go with --decoding blockwise: one of them proposes the tokens");
  const SpeculationOptions ahead{.draft = draft ? draft->model : nullptr,
                                 .draft_tokens = arguments.draft_tokens,
                                 .heads = heads};
  return std::unique_ptr<Generation>(
      new Generation{model, std::move(draft), ahead.draft != nullptr || heads,
                     TextRows(*model.model, *model.tokenizers.target, {}, ahead)});
}

// One prompt: streamed. Several answers follow each other, numbered.
void generate_one(Generation& generation, const GenerateArguments& arguments,
                  const std::string& prompt) {
  const LoadedLanguageModel& model = generation.model;
  const std::vector<int32_t> ids = prompt_ids(model, arguments, prompt);
  warn_of_unknown(*model.tokenizers.target, prompt, "");
  for (int64_t sample = 0; sample < arguments.n; ++sample) {
    if (arguments.n > 1) {
      fmt::print("{}--- {}\n", sample > 0 ? "\n" : "", sample + 1);
    }
    fmt::print("{}", arguments.only_new || arguments.summarise ? "" : prompt);
    std::fflush(stdout);
    const GenerateRequest request{ids, static_cast<uint64_t>(sample)};
    const auto results = generation.run(std::span(&request, 1), arguments.options,
                                        {.text = [](size_t /*request*/, const std::string& text) {
                                          fmt::print("{}", text);
                                          std::fflush(stdout);
                                        }});
    fmt::print("\n");
    warn_of_forgotten(results.front(), model.model->context(), "");
  }
}

// A prompt a line: in batches, one JSON object for each answer.
void generate_lines(Generation& generation, const GenerateArguments& arguments) {
  const LoadedLanguageModel& model = generation.model;
  LineReader lines(arguments.prompts);
  std::vector<std::string> pool;
  int64_t first = 1;
  while (lines.next_pool(static_cast<size_t>(arguments.batch), pool)) {
    std::vector<GenerateRequest> requests;
    for (const std::string& line : pool) {
      warn_of_unknown(*model.tokenizers.target, line,
                      fmt::format("line {}: ", first + (&line - pool.data())));
      for (int64_t sample = 0; sample < arguments.n; ++sample) {
        requests.push_back({prompt_ids(model, arguments, line), static_cast<uint64_t>(sample)});
      }
    }
    const std::vector<Generated> results = generation.run(requests, arguments.options);
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t place = i / static_cast<size_t>(arguments.n);
      const int64_t line = first + static_cast<int64_t>(place);
      warn_of_forgotten(results[i], model.model->context(), fmt::format("line {}: ", line));
      const Json json{{"line", line},
                      {"prompt", pool[place]},
                      {"text", results[i].text},
                      {"tokens", results[i].ids.size()},
                      {"end", name_of(results[i].end)}};
      fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    std::fflush(stdout);
    first += std::ssize(pool);
  }
}

void run(const GenerateArguments& arguments) {
  const int given = (arguments.prompt.empty() ? 0 : 1) + (arguments.prompt_file.empty() ? 0 : 1) +
                    (arguments.prompts.empty() ? 0 : 1);
  check(given <= 1, "give only one of --prompt, --prompt-file and --prompts");
  check_sampling(arguments.options.sampling);
  const auto model = load_as<LanguageModel>(arguments.model, arguments.precision);
  const auto generation = begin_generation(*model, arguments);
  if (!arguments.prompts.empty()) {
    generate_lines(*generation, arguments);
  } else {
    generate_one(
        *generation, arguments,
        arguments.prompt_file.empty() ? arguments.prompt : read_text(arguments.prompt_file));
  }
  generation->report();
}

}  // namespace

void add_generate(Command& app) {
  auto arguments = std::make_shared<GenerateArguments>();
  Command command = app.subcommand("generate", "Continue a text with a language model");
  command.group("Text");
  add_model(command, arguments->model);
  command.option("--prompt", arguments->prompt, "text to continue");
  command.option("--prompt-file", arguments->prompt_file, "file with the prompt; -: standard input")
      .value_name("FILE");
  command
      .option("--prompts", arguments->prompts, "file with one prompt per line; prints JSON lines")
      .value_name("FILE");
  GenerateOptions& options = arguments->options;
  command.option("--max-tokens", options.max_tokens, "stop after N new tokens")
      .range(1, 1 << 30)
      .show_default();
  add_sampling(command, options.sampling);
  command.option("--seed", options.seed, "random seed; the same seed gives the same text")
      .show_default();
  command.option("--stop", options.stop, "stop at this text (not printed)").one_at_a_time();
  command.flag("--ignore-end", options.ignore_end, "continue after the END token");
  command
      .option(
          "--decoding", arguments->decoding,
          "plain: token by token; blockwise: as many tokens at once as the model's own proposals "
          "deserve (default: blockwise if the model has any)")
      .choices({"plain", "blockwise"});
  command
      .option("--draft", arguments->draft,
              "smaller model of the same vocabulary that runs ahead: the same text in fewer passes")
      .value_name("DIR");
  command.option("--draft-tokens", arguments->draft_tokens, "tokens that the draft says ahead")
      .range(1, 64)
      .show_default();
  command.option("--n", arguments->n, "answers per prompt").range(1, 10000).show_default();
  command.option("--batch", arguments->batch, "lines of --prompts per batch")
      .range(1, 4096)
      .show_default();
  command.flag("--only-new", arguments->only_new, "do not print the prompt");
  command.flag("--summarise", arguments->summarise,
               "summarise the prompt, with a model of the task \"summarise\"");
  add_precision(command, arguments->precision);
  command.example("Continue a sentence",
                  "heed generate --model gpt2 --prompt 'The meaning of life is'");
  command.example(
      "Sample from the 50 most likely tokens",
      "heed generate --model runs/shakespeare --prompt ROMEO: --temperature 0.8 --top-k "
      "50");
  command.example("Answer every line of a file",
                  "heed generate --model gpt2 --prompts questions.txt --stop . > answers.jsonl");
  command.example(
      "Let a smaller model run ahead",
      "heed generate --model gpt2-xl --draft gpt2 --temperature 0 --prompt 'In short,'");
  command.example("Summarise a text",
                  "heed generate --model runs/summaries --summarise --temperature 0 --prompt-file "
                  "long.txt");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
