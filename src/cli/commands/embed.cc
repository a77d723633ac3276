// `heed embed`: lines in, vectors out.
#include "decode/text/embed.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/shared_lines.h"

namespace heed::cli {
namespace {

struct EmbedArguments {
  std::string model;
  std::string file = "-";
  std::string output;
  double deadline = 300.0;
  std::string pooling = "mean";
  std::optional<DType> precision;
  EmbedOptions options;
};

std::string json_line(const std::vector<float>& vector) {
  std::string line = "{\"embedding\":[";
  for (size_t i = 0; i < vector.size(); ++i) {
    fmt::format_to(std::back_inserter(line), "{}{}", i == 0 ? "" : ",", vector[i]);
  }
  return line + "]}\n";
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

// JSON lines on standard output, or a NumPy file.
class VectorOutput final : public LineOutput {
 public:
  explicit VectorOutput(const std::string& file) : file_(file) {
    check_output(file);
    check(file.empty() || file.ends_with(".npy"),
          "--output is {}, expected a name that ends in .npy; leave it out to print JSON lines",
          file);
  }

  // What write() gets for it.
  std::string bytes_of(const std::vector<float>& vector) {
    columns_ = vector.size();
    return file_.empty() ? json_line(vector)
                         : std::string(reinterpret_cast<const char*>(vector.data()),
                                       vector.size() * sizeof(float));
  }

  void write(std::string_view bytes) override {
    if (file_.empty()) {
      fmt::print("{}", bytes);
    } else {
      values_ += bytes;  // until it is known how many there are, with which the file begins
    }
  }

  void finish() override {
    if (file_.empty()) {
      return;
    }
    AtomicFile file(file_);
    file.write(
        npy_header(values_.empty() ? 0 : values_.size() / sizeof(float) / columns_, columns_));
    file.write(values_);
    file.commit();
  }

 private:
  std::string file_;
  std::string values_;
  size_t columns_ = 0;
};

void run(EmbedArguments& arguments) {
  const Group processes = open_processes(arguments.deadline);
  arguments.options.pooling = pooling_of(arguments.pooling);
  VectorOutput output(arguments.output);
  const auto model = load_as<TextEncoder>(arguments.model, arguments.precision);
  SharedLines lines(arguments.file, output, processes);
  for (std::vector<std::string> pool; lines.next_pool(pool);) {
    for (const std::vector<float>& vector : embed(*model, pool, arguments.options)) {
      lines.print(output.bytes_of(vector));
    }
  }
  lines.finish();
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
  add_deadline(command, arguments->deadline);
  command.example("Embed a file into a NumPy array",
                  "heed embed --model all-MiniLM-L6-v2 --output faq.npy faq.txt");
  command.example("Embed one sentence as a vector of length 1",
                  "echo 'A sentence.' | heed embed --model all-MiniLM-L6-v2 --pooling mean "
                  "--normalize");
  command.example("Share the lines of a file between four processes",
                  "mpirun -n 4 heed embed --model all-MiniLM-L6-v2 --output faq.npy faq.txt");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
