// `heed tokenizer`: trains vocabularies, and turns text into pieces and back, line by line.
#include "text/tokenizer.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "data/text/lines.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct TrainOptions {
  std::vector<std::string> files;
  std::string output;  // empty: the tokenizer's own file name
  TokenizerTraining training;
};

struct UseOptions {
  std::string tokenizer;   // file or folder
  std::string file = "-";  // standard input
  bool ids = false;
  bool offsets = false;
};

// Calls use(line, number) for every line.
template <typename Use>
void for_each_line(const std::string& file, const Use& use) {
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    use(line, reader.line_number());
  }
}

void train(const TrainOptions& options) {
  // Bytes are all that this kind knows, and line ends are bytes like others.
  const bool bytes = options.training.kind == "byte_bpe";
  std::vector<std::string> lines;
  for (const std::string& name : options.files) {
    for_each_line(name, [&](const std::string& line, int64_t number) {
      check(bytes || valid_utf8(line),
            "[{}:{}] is not UTF-8; convert the file first (iconv -t UTF-8)", name, number);
      lines.push_back(bytes ? line + "\n" : line);
    });
  }
  const auto tokenizer = train_tokenizer(lines, options.training);
  const std::string output =
      options.output.empty() ? std::string(tokenizer->file_name()) : options.output;
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

void encode(const UseOptions& options) {
  check(!options.ids || !options.offsets, "give --ids or --offsets, not both");
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
    check(id.has_value(), "there is no piece \"{}\" (for ids, give --ids)", word);
    return *id;
  }
  int32_t id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  check(error == std::errc() && end == word.data() + word.size(), "\"{}\" is no id", word);
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

void decode(const UseOptions& options) {
  const auto tokenizer = load(options.tokenizer);
  for_each_line(options.file, [&](const std::string& line, int64_t number) {
    try {
      fmt::print("{}\n", decode_line(*tokenizer, line, options.ids));
    } catch (const Error& error) {
      fail("[line {}] {}", number, error.what());
    }
  });
}

void info(const UseOptions& options) {
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
  Command command = app.subcommand("train", "Learns a vocabulary from text");
  command.option("files", options->files, "Text in UTF-8, plain or gzip, one sentence a line")
      .required();
  command
      .option("--kind", training.kind,
              "unigram (default) or bpe: SentencePiece; byte_bpe: GPT-2's; wordpiece: BERT's; "
              "word; char; token: words of text with a space between all tokens")
      .choices(tokenizer_kinds());
  command
      .option("--vocabulary", training.vocabulary,
              "Pieces at most, special ones included (default 8000)")
      .range(5, 10'000'000);
  command.option("--output", options->output,
                 "File to write (default tokenizer.model, vocabulary.json or tokenizer.json)");
  command
      .option("--character-coverage", training.character_coverage,
              "unigram, bpe: share of the characters that get a piece (default 1; 0.9995 "
              "suits texts with thousands of characters)")
      .range(0.98, 1.0);
  command
      .option("--least-count", training.least_count,
              "word, char, token: rarer ones are unknown (default 1)")
      .range(1, 1'000'000'000);
  command.flag("--byte-fallback", training.byte_fallback,
               "unigram, bpe: spell unknown characters as bytes");
  command.flag("--lower-case", training.lower_case, "Lower-case all text (not byte_bpe, token)");
  command.footer(
      "Examples:\n  heed tokenizer train train.de train.en --vocabulary 8000\n"
      "  heed tokenizer train names.txt --kind char --output names.json\n"
      "  heed tokenizer train book.txt --kind byte_bpe --vocabulary 5000\n"
      "  heed tokenizer train wiki.txt --kind wordpiece --vocabulary 30000 --lower-case");
  command.action([options] { train(*options); });
}

using Run = void (*)(const UseOptions&);

Command add_use(Command& app, const char* name, const char* help, Run run) {
  auto options = std::make_shared<UseOptions>();
  Command command = app.subcommand(name, help);
  command
      .option("--tokenizer", options->tokenizer,
              "tokenizer.model, vocabulary.json, tokenizer.json, vocab.json with merges.txt "
              "beside it, vocab.txt, or the folder of one")
      .required();
  if (run != info) {
    command.option("file", options->file, "File to read (default: standard input)");
    command.flag("--ids", options->ids, "Numbers instead of pieces");
  }
  if (run == encode) {
    command.flag("--offsets", options->offsets,
                 "Each token on a line of its own: piece, id, and the bytes of the text that "
                 "it stands for, begin and end");
  }
  command.action([options, run] { run(*options); });
  return command;
}

}  // namespace

void add_tokenizer(Command& app) {
  Command tokenizer = app.subcommand("tokenizer", "Trains and uses vocabularies");
  tokenizer.require_subcommand();
  add_training(tokenizer);
  add_use(tokenizer, "encode", "Turns lines of text into pieces or ids", encode)
      .footer(
          "Examples:\n  echo 'Ein Hund läuft.' | heed tokenizer encode --tokenizer "
          "tokenizer.model\n  heed tokenizer encode --tokenizer tokenizer.model --ids test.de\n"
          "  heed tokenizer encode --tokenizer bert/ --offsets test.en > test.tsv");
  add_use(tokenizer, "decode", "Turns lines of pieces or ids into text", decode)
      .footer(
          "Examples:\n  echo '▁Ein ▁Hund' | heed tokenizer decode --tokenizer tokenizer.model\n"
          "  heed tokenizer decode --tokenizer tokenizer.model --ids test.ids");
  add_use(tokenizer, "info", "Says what a tokenizer is", info)
      .footer(
          "Examples:\n  heed tokenizer info --tokenizer tokenizer.model\n"
          "  heed tokenizer info --tokenizer gpt2/");
  tokenizer.footer(
      "Examples:\n  heed tokenizer train train.de train.en --vocabulary 8000\n"
      "  heed tokenizer encode --tokenizer tokenizer.model < test.de > test.pieces\n"
      "  heed tokenizer decode --tokenizer tokenizer.model < test.pieces\n"
      "  heed tokenizer info --tokenizer tokenizer.model");
}

}  // namespace heed::cli
