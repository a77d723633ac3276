// `heed tokenizer`: trains vocabularies, and turns text into pieces and back, line by line.
#include "text/tokenizer.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "data/text/lines.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct TrainOptions {
  std::vector<std::string> files;
  std::string output;  // empty: the tokenizer's own file name
  bool force = false;
  TokenizerTraining training;
};

struct UseOptions {
  std::string tokenizer;   // file or folder
  std::string file = "-";  // standard input
  bool ids = false;
  bool offsets = false;
};

// Calls use(line, number) for every line. What it prints appears when the input pauses.
template <typename Use>
void for_each_line(const std::string& file, const Use& use) {
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    use(line, reader.line_number());
    if (!reader.ready()) {
      std::fflush(stdout);
    }
  }
}

void refuse_existing(const std::string& output, bool force) {
  check(force || !std::filesystem::exists(output),
        "[tokenizer] {} exists already; give another --output, or replace it with --force", output);
}

void train(const TrainOptions& options) {
  check_output(options.output);
  refuse_existing(options.output, options.force);  // before the work
  ShareProgress progress;
  progress.doing("reading text");
  // Bytes are all that this kind knows, and line ends are bytes like others.
  const bool bytes = options.training.kind == "byte_bpe";
  std::vector<std::string> lines;
  for (const std::string& name : options.files) {
    for_each_line(name, [&](const std::string& line, int64_t number) {
      check(bytes || valid_utf8(line),
            "[{}:{}] is not UTF-8; convert the file first, for instance with iconv", name, number);
      lines.push_back(bytes ? line + "\n" : line);
    });
  }
  progress.doing(fmt::format("training on {} lines", lines.size()));
  const auto tokenizer = train_tokenizer(lines, options.training);
  progress.clear();
  const std::string output =
      options.output.empty() ? std::string(tokenizer->file_name()) : options.output;
  refuse_existing(output, options.force);
  write_file(output, tokenizer->serialize());
  fmt::print("{}: {}, {} pieces from {} lines\n", output, tokenizer->kind(), tokenizer->size(),
             lines.size());
}

std::shared_ptr<const Tokenizer> load(const std::string& name) {
  return std::filesystem::is_directory(name) ? load_tokenizer_folder(name) : load_tokenizer(name);
}

// One token a line, and an empty line behind each line of text.
void print_offsets(const Tokenizer& tokenizer, const std::string& line) {
  const Encoding encoding = tokenizer.encode_with_offsets(line);
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const int32_t id = encoding.ids[i];
    const TextRange& range = encoding.ranges[i];
    fmt::print("{}\t{}\t{}\t{}\n", tokenizer.piece(id), id, range.begin, range.end);
  }
  fmt::print("\n");
}

void encode_lines(const UseOptions& options) {
  check(!options.ids || !options.offsets, "--ids and --offsets cannot be combined");
  const auto tokenizer = load(options.tokenizer);
  for_each_line(options.file, [&](const std::string& line, int64_t /*number*/) {
    if (options.offsets) {
      print_offsets(*tokenizer, line);
      return;
    }
    const std::vector<int32_t> ids = tokenizer->encode(line);
    if (options.ids) {
      fmt::print("{}\n", fmt::join(ids, " "));
      return;
    }
    std::vector<std::string> pieces;
    pieces.reserve(ids.size());
    for (const int32_t id : ids) {
      pieces.push_back(tokenizer->piece(id));
    }
    fmt::print("{}\n", fmt::join(pieces, " "));
  });
}

// The id that a word of the input means, either in digits or as a piece.
int32_t read_id(const Tokenizer& tokenizer, std::string_view word, bool digits) {
  if (!digits) {
    const std::optional<int32_t> id = tokenizer.find(word);
    check(id.has_value(), "there is no piece \"{}\" (use --ids to decode ids)", word);
    return *id;
  }
  int32_t id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  check(error == std::errc() && end == word.data() + word.size(), "\"{}\" is not an id", word);
  return id;
}

std::string decode_line(const Tokenizer& tokenizer, std::string_view line, bool digits) {
  std::vector<int32_t> ids;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (!word.empty()) {
      ids.push_back(read_id(tokenizer, word, digits));
    }
    line.remove_prefix(std::min(word.size() + 1, line.size()));
  }
  return tokenizer.decode(ids);
}

void decode_lines(const UseOptions& options) {
  const auto tokenizer = load(options.tokenizer);
  for_each_line(options.file, [&](const std::string& line, int64_t number) {
    try {
      fmt::print("{}\n", decode_line(*tokenizer, line, options.ids));
    } catch (const Error& error) {
      fail("[line {}] {}", number, error.what());
    }
  });
}

void describe(const UseOptions& options) {
  const auto tokenizer = load(options.tokenizer);
  fmt::print("kind    {}\npieces  {}\n", tokenizer->kind(), tokenizer->size());
  const SpecialIds& special = tokenizer->special();
  const std::pair<const char*, int32_t> ids[] = {
      {"pad", special.pad}, {"start", special.start}, {"end", special.end}, {"unk", special.unk}};
  for (const auto& [name, id] : ids) {
    fmt::print("{:<7} {}\n", name,
               id < 0 ? std::string("none") : fmt::format("{} {}", id, tokenizer->piece(id)));
  }
}

void add_training(Command& app) {
  auto options = std::make_shared<TrainOptions>();
  TokenizerTraining& training = options->training;
  Command command = app.subcommand("train", "Learn a vocabulary from text");
  command.option("FILE", options->files, "UTF-8 text, plain or gzip, one sentence per line")
      .required();
  command
      .option("--kind", training.kind,
              "unigram and bpe are SentencePiece's, byte_bpe is GPT-2's, wordpiece is BERT's; "
              "token splits at spaces only")
      .choices(tokenizer_kinds())
      .value_name("KIND")
      .show_default();
  command
      .option("--vocabulary", training.vocabulary,
              "largest number of pieces, with the special ones")
      .value_name("N")
      .range(5, 10'000'000)
      .show_default();
  command
      .option(
          "--output", options->output,
          "file to write (default: tokenizer.model, vocabulary.json or tokenizer.json, by kind)")
      .value_name("FILE");
  command.flag("--force", options->force, "replace a file that is there already");
  command
      .option("--character-coverage", training.character_coverage,
              "unigram, bpe: share of the characters that get a piece; 0.9995 suits languages with "
              "thousands of characters")
      .range(0.98, 1.0)
      .show_default();
  command
      .option("--least-count", training.least_count,
              "word, char, token: what occurs less often becomes unknown")
      .range(1, 1'000'000'000)
      .show_default();
  command.flag("--byte-fallback", training.byte_fallback,
               "unigram, bpe: spell unknown characters as bytes");
  command.flag("--lower-case", training.lower_case, "lowercase all text (not byte_bpe, token)");
  command.example("Train a joint vocabulary of two languages",
                  "heed tokenizer train train.de train.en --vocabulary 8000");
  command.example("Make a vocabulary of characters",
                  "heed tokenizer train names.txt --kind char --output names.json");
  command.example("Train GPT-2's kind of vocabulary",
                  "heed tokenizer train book.txt --kind byte_bpe --vocabulary 5000");
  command.example("Train BERT's kind of vocabulary",
                  "heed tokenizer train wiki.txt --kind wordpiece --vocabulary 30000 --lower-case");
  command.action([options] { train(*options); });
}

using Run = void (*)(const UseOptions&);

Command add_use(Command& app, const char* name, const char* help, Run run) {
  auto options = std::make_shared<UseOptions>();
  Command command = app.subcommand(name, help);
  command
      .option("--tokenizer", options->tokenizer,
              "tokenizer.model, vocabulary.json, tokenizer.json, vocab.txt, vocab.json with "
              "merges.txt beside it, or the folder of one of them")
      .value_name("PATH")
      .required();
  if (run != describe) {
    command.option("FILE", options->file, "file to read (default: standard input)");
    command.flag(
        "--ids", options->ids,
        run == encode_lines ? "print ids instead of pieces" : "read ids instead of pieces");
  }
  if (run == encode_lines) {
    command.flag("--offsets", options->offsets,
                 "print one token per line: piece, id, and the offsets in bytes of its begin and "
                 "end in the line");
  }
  command.action([options, run] { run(*options); });
  return command;
}

}  // namespace

void add_tokenizer(Command& app) {
  Command tokenizer = app.subcommand("tokenizer", "Train and use vocabularies");
  tokenizer.group("Tools");
  tokenizer.require_subcommand();
  tokenizer.example("Train a joint vocabulary of two languages",
                    "heed tokenizer train train.de train.en --vocabulary 8000");
  tokenizer.example("Split a text into pieces",
                    "heed tokenizer encode --tokenizer tokenizer.model test.de > test.pieces");
  add_training(tokenizer);
  Command encoding =
      add_use(tokenizer, "encode", "Split lines of text into pieces or ids", encode_lines);
  encoding.example("Split a sentence into pieces",
                   "echo 'Ein Hund läuft.' | heed tokenizer encode --tokenizer tokenizer.model");
  encoding.example("Convert a file to ids",
                   "heed tokenizer encode --tokenizer tokenizer.model --ids test.de > test.ids");
  encoding.example("Print where each token is in the text",
                   "heed tokenizer encode --tokenizer bert-base-uncased --offsets test.en");
  Command decoding =
      add_use(tokenizer, "decode", "Join lines of pieces or ids to text", decode_lines);
  decoding.example("Join pieces", "heed tokenizer decode --tokenizer tokenizer.model test.pieces");
  decoding.example("Convert ids to text",
                   "heed tokenizer decode --tokenizer tokenizer.model --ids test.ids");
  Command describing = add_use(tokenizer, "info", "Describe a tokenizer", describe);
  describing.example("Describe a file", "heed tokenizer info --tokenizer tokenizer.model");
  describing.example("Describe the tokenizer of a model", "heed tokenizer info --tokenizer gpt2");
}

}  // namespace heed::cli
