// What the commands of the program share. Each command is one file with one function that adds
// itself to the parser.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "decode/sampling.h"
#include "tensor/dtype.h"

namespace heed::cli {

inline DType dtype_named(const std::string& name) {
  return name == "int8" ? DType::i8 : name == "bf16" ? DType::bf16 : DType::f32;
}

// `NAME f32|bf16|int8`: `set` gets what is given.
inline void add_dtype(CLI::App& command, const std::string& name, const std::string& help,
                      const std::function<void(DType)>& set) {
  command
      .add_option_function<std::string>(
          name, [set](const std::string& dtype) { set(dtype_named(dtype)); }, help)
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
}

// `--precision f32|bf16|int8`, for commands that run a model.
inline void add_precision(CLI::App& command, std::optional<DType>& precision) {
  add_dtype(command, "--precision",
            "of the products (default: int8 for a folder of int8 weights, else f32)",
            [&precision](DType dtype) { precision = dtype; });
}

// `--temperature` and what else says how tokens are drawn, for commands that generate.
void add_sampling(CLI::App& command, SamplingOptions& options);

// `path` as it is for one file, NAME-1.mid, NAME-2.mid and so on for several.
inline std::filesystem::path numbered_path(const std::filesystem::path& path, size_t number,
                                           size_t count) {
  std::filesystem::path numbered = path;
  if (count > 1) {
    numbered.replace_filename(path.stem().string() + "-" + std::to_string(number) +
                              path.extension().string());
  }
  return numbered;
}

// Files that could not be used, and why, on standard error; nothing if there are none.
inline void warn_skipped(const std::string& skipped) {
  if (!skipped.empty()) {
    fmt::print(stderr, "{}\n", skipped);
  }
}

void add_bench(CLI::App& app);
void add_train(CLI::App& app);
void add_translate(CLI::App& app);
void add_tokenizer(CLI::App& app);
void add_attention(CLI::App& app);
void add_corpus(CLI::App& app);
void add_compare(CLI::App& app);
void add_score(CLI::App& app);
void add_generate(CLI::App& app);
void add_eval(CLI::App& app);
void add_embed(CLI::App& app);
void add_classify(CLI::App& app);  // and fill, match
void add_music(CLI::App& app);
void add_continue(CLI::App& app);
void add_serve(CLI::App& app);
void add_model_commands(CLI::App& app);
void add_music_motif(CLI::App& music);  // of `heed music`
void add_image(CLI::App& app);
void add_image_filters(CLI::App& image);  // of `heed image`: denoise, texture
void add_image_models(CLI::App& image);   // of `heed image`: sample, complete, upscale
void add_image_files(CLI::App& image);    // of `heed image`: draw, unpack

}  // namespace heed::cli
