#include "cli/command.h"

#include <fmt/core.h>

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

void add_precision(Command& command, std::optional<DType>& precision) {
  add_dtype(command, "--precision",
            "of the products (default: int8 for a folder of int8 weights, else f32)",
            [&precision](DType dtype) { precision = dtype; });
}

void add_sampling(Command& command, SamplingOptions& options) {
  command.option("--temperature", options.temperature, "0: always the likeliest token")
      .show_default();
  command.option("--top-k", options.top_k, "draw from the k likeliest tokens; 0: from all")
      .show_default();
  command.option("--top-p", options.top_p, "draw from the likeliest that have this together")
      .show_default();
  command.option("--min-p", options.min_p, "draw from those with this share of the likeliest's")
      .show_default();
  command
      .option("--repetition-penalty", options.repetition_penalty,
              "above 1: what was said is less likely")
      .show_default();
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

void warn_skipped(const std::string& skipped) {
  if (!skipped.empty()) {
    fmt::print(stderr, "{}\n", skipped);
  }
}

}  // namespace heed::cli
