// `heed embed`: lines in, vectors out.
#include "decode/text/embed.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "data/text/lines.h"

namespace heed::cli {
namespace {

struct EmbedArguments {
  std::string model;
  std::string file = "-";
  std::string output;
  std::string pooling = "mean";
  std::optional<DType> precision;
  EmbedOptions options;
};

void print_json(const std::vector<float>& vector) {
  fmt::print("{{\"embedding\":[");
  for (size_t i = 0; i < vector.size(); ++i) {
    fmt::print("{}{}", i == 0 ? "" : ",", vector[i]);
  }
  fmt::print("]}}\n");
}

// NumPy's format, version 1.0: f32 [rows, columns].
std::string npy_header(size_t rows, size_t columns) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  constexpr size_t kBefore = 10;  // magic, version, length of the header
  while ((kBefore + text.size() + 1) % 64 != 0) {
    text += ' ';
  }
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() % 256);
  header += static_cast<char>(text.size() / 256);
  return header + text;
}

class Output {
 public:
  explicit Output(const std::string& file) : file_(file) {
    check_output(file);
    check(file.empty() || file.ends_with(".npy"),
          "--output is {}, expected a name that ends in .npy; leave it out to print JSON lines",
          file);
  }

  void add(const std::vector<std::vector<float>>& vectors) {
    for (const std::vector<float>& vector : vectors) {
      if (file_.empty()) {
        print_json(vector);
      } else {
        values_.insert(values_.end(), vector.begin(), vector.end());
        ++rows_;
      }
    }
    std::fflush(stdout);
  }

  void finish() const {
    if (file_.empty()) {
      return;
    }
    AtomicFile file(file_);
    file.write(npy_header(rows_, rows_ == 0 ? 0 : values_.size() / rows_));
    file.write(std::as_bytes(std::span(values_)));
    file.commit();
  }

 private:
  std::string file_;
  std::vector<float> values_;
  size_t rows_ = 0;
};

void run(EmbedArguments& arguments) {
  arguments.options.pooling = pooling_of(arguments.pooling);
  Output output(arguments.output);
  const auto model = load_as<TextEncoder>(arguments.model, arguments.precision);
  LineReader lines(arguments.file);
  std::vector<std::string> pool;
  while (lines.next_pool(kLinePool, pool)) {
    output.add(embed(*model, pool, arguments.options));
  }
  output.finish();
}

}  // namespace

void add_embed(Command& app) {
  auto arguments = std::make_shared<EmbedArguments>();
  Command command = app.subcommand("embed", "Turn lines of text into vectors");
  command.group("Text");
  command.option("FILE", arguments->file, "text, plain or gzip (default: standard input)");
  add_model(command, arguments->model);
  command.option("--pooling", arguments->pooling, "how token vectors become one vector per line")
      .choices({"mean", "cls", "max", "pooler"})
      .show_default();
  command.flag("--normalize", arguments->options.normalize, "scale vectors to length 1");
  command.option("--output", arguments->output, "NumPy file, FILE.npy, instead of JSON lines")
      .value_name("FILE");
  command.option("--max-length", arguments->options.longest, "truncate texts to N tokens")
      .range(1, 1 << 20);
  command.option("--batch-tokens", arguments->options.batch_tokens, "tokens per batch")
      .range(1, 1 << 24)
      .show_default();
  add_precision(command, arguments->precision);
  command.example("Embed a file into a NumPy array",
                  "heed embed --model all-MiniLM-L6-v2 --output faq.npy faq.txt");
  command.example("Embed one sentence as a vector of length 1",
                  "echo 'A sentence.' | heed embed --model all-MiniLM-L6-v2 --pooling mean "
                  "--normalize");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
