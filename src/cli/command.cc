#include "cli/command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.h"
#include "decode/sampling.h"

namespace heed::cli {

DType dtype_named(const std::string& name) {
  return name == "int8" ? DType::i8 : name == "bf16" ? DType::bf16 : DType::f32;
}

void add_dtype(Command& command, const std::string& name, const std::string& help,
               const std::function<void(DType)>& set) {
  command
      .option(
          name, [set](const std::string& dtype) { set(dtype_named(dtype)); }, help)
      .choices({"f32", "bf16", "int8"});
}

void add_model(Command& command, std::string& model) {
  command.option("--model", model, "model folder, in Heed's or Hugging Face's format")
      .value_name("DIR")
      .required();
}

void add_precision(Command& command, std::optional<DType>& precision) {
  add_dtype(command, "--precision",
            "precision of matrix multiplications (default: int8 if the weights are int8, else f32)",
            [&precision](DType dtype) { precision = dtype; });
}

void add_sampling(Command& command, SamplingOptions& options) {
  command.option("--temperature", options.temperature, "0 always picks the most likely token")
      .value_name("T")
      .not_negative()
      .show_default();
  command.option("--top-k", options.top_k, "sample from the K most likely tokens; 0: from all")
      .value_name("K")
      .not_negative()
      .show_default();
  command
      .option("--top-p", options.top_p,
              "sample from the smallest set of tokens whose probability reaches P")
      .value_name("P")
      .positive(1.0)
      .show_default();
  command
      .option("--min-p", options.min_p,
              "sample from tokens that have at least P times the probability of the most likely")
      .value_name("P")
      .range(0.0, 1.0)
      .show_default();
  command
      .option("--repetition-penalty", options.repetition_penalty,
              "above 1 penalises repeated tokens")
      .positive()
      .show_default();
}

void check_output(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  std::error_code unknown;
  check(folder.empty() || std::filesystem::is_directory(folder, unknown),
        "cannot write {}: there is no folder {}", file.string(), folder.string());
}

void check_output(const std::string& option, const std::filesystem::path& file,
                  const std::vector<std::string>& extensions) {
  const bool known = std::find(extensions.begin(), extensions.end(), file.extension().string()) !=
                     extensions.end();
  const auto last = extensions.end() - 1;
  check(file.empty() || known, "{} is {}, expected a name that ends in {}{}{}", option,
        file.string(), fmt::join(extensions.begin(), last, ", "),
        extensions.size() > 1 ? " or " : "", *last);
  check_output(file);
}

std::filesystem::path numbered_path(const std::filesystem::path& path, size_t number,
                                    size_t count) {
  std::filesystem::path numbered = path;
  if (count > 1) {
    numbered.replace_filename(path.stem().string() + "-" + std::to_string(number) +
                              path.extension().string());
  }
  return numbered;
}

NamedPath parse_named(const std::string& text) {
  const size_t equals = text.find('=');
  check(equals != std::string::npos && equals > 0, "[compare] {} is not of the form NAME=PATH",
        text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

void warn_skipped(const std::string& skipped) {
  if (!skipped.empty()) {
    fmt::print(stderr, "{}\n", skipped);
  }
}

}  // namespace heed::cli
