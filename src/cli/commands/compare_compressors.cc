// `heed compare compressors`: how small compressors make a text, in the units of character models.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "data/text/token_windows.h"
#include "text/compression/ppm.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct CompressorArguments {
  std::vector<std::string> files;
  std::vector<std::string> after;
  int64_t order = 5;
};

// The bits of a text, piece by piece so that the progress can be shown.
double code_text(Ppm& model, std::string_view text, const std::string& what) {
  constexpr size_t kPiece = size_t{1} << 18;
  ShareProgress progress;
  double bits = 0.0;
  for (size_t begin = 0; begin < text.size(); begin += kPiece) {
    bits += model.code(text.substr(begin, kPiece));
    progress.show(static_cast<double>(std::min(begin + kPiece, text.size())) /
                      static_cast<double>(text.size()),
                  what);
  }
  return bits;
}

int64_t characters_of(const std::string& text) {
  int64_t characters = 0;
  for ([[maybe_unused]] const CodePoint& c : CodePoints(text)) {
    ++characters;
  }
  return characters;
}

void compare_compressors(const CompressorArguments& arguments) {
  const int order = static_cast<int>(arguments.order);
  std::vector<std::string> texts;
  size_t longest = 4;
  for (const std::string& file : arguments.files) {
    texts.push_back(read_text(file));
    check(!texts.back().empty(), "[compare] {} is empty", file);
    longest = std::max(longest, file.size());
  }
  Ppm taught(order);
  for (const std::string& file : arguments.after) {
    code_text(taught, read_text(file), "learning " + file);
  }
  fmt::print("{:<{}}  {:<12} {:>12} {:>12} {:>10} {:>9}\n", "text", longest, "compressor",
             "characters", "bytes", "bits/char", "bits/byte");
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto code = [&](const std::string& name, Ppm model) {
      const auto characters = static_cast<double>(characters_of(texts[i]));
      const double bits = code_text(model, texts[i], arguments.files[i]);
      fmt::print("{:<{}}  {:<12} {:>12.0f} {:>12.0f} {:>10.4f} {:>9.4f}\n", arguments.files[i],
                 longest, name, characters, std::ceil(bits / 8), bits / characters,
                 bits / static_cast<double>(texts[i].size()));
    };
    const std::string name = fmt::format("ppm {}", order);
    code(name, Ppm(order));
    if (!arguments.after.empty()) {
      code(name + " after", taught);
    }
  }
}

}  // namespace

void add_compare_compressors(Command& compare) {
  auto arguments = std::make_shared<CompressorArguments>();
  Command command = compare.subcommand(
      "compressors", "Measure how many bits per character a compressor needs for a text");
  command.option("FILE", arguments->files, "text, plain or gzip").required();
  command
      .option("--after", arguments->after,
              "text that the compressor learns first, such as what a model was trained on")
      .one_at_a_time()
      .value_name("FILE");
  command.option("--order", arguments->order, "longest context in bytes")
      .range(0, Ppm::kMostOrder)
      .show_default();
  command.footer(
      "The compressor is PPM (prediction by partial matching, method D, with exclusion); sizes are "
      "those of an exact arithmetic coder. Each text is compressed by itself and, with --after, "
      "once more after the other texts. It goes on learning while it compresses, which a model in "
      "`heed eval` does not.");
  command.example("Compress a held-out book alone and after the books of the training",
                  "heed compare compressors valid.txt --after book.txt --after other.txt");
  command.action([arguments] { compare_compressors(*arguments); });
}

}  // namespace heed::cli
