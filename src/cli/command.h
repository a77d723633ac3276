// What the commands of the program share. Each command is one file with one function that adds
// itself to the parser.
#pragma once

#include <CLI/CLI.hpp>

#include "tensor/dtype.h"

namespace heed::cli {

// `--precision f32|bf16`, for commands that run a model.
inline void add_precision(CLI::App& command, DType& precision) {
  command
      .add_option_function<std::string>(
          "--precision",
          [&precision](const std::string& name) {
            precision = name == "bf16" ? DType::bf16 : DType::f32;
          },
          "of the products")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->default_str("f32");
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
void add_model_commands(CLI::App& app);

}  // namespace heed::cli
