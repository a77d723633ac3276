// What the commands of the program share. A command is one file with one function that adds it to
// the command line; main.cc has the table of these functions.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "tensor/dtype.h"

namespace heed {
struct SamplingOptions;
}  // namespace heed

namespace heed::cli {

DType dtype_named(const std::string& name);

// `NAME f32|bf16|int8`: `set` gets what is given.
void add_dtype(Command& command, const std::string& name, const std::string& help,
               const std::function<void(DType)>& set);

// `--precision f32|bf16|int8`, for commands that run a model.
void add_precision(Command& command, std::optional<DType>& precision);

// `--temperature` and what else says how tokens are drawn, for commands that generate.
void add_sampling(Command& command, SamplingOptions& options);

// `path` as it is for one file, NAME-1.mid, NAME-2.mid and so on for several.
std::filesystem::path numbered_path(const std::filesystem::path& path, size_t number, size_t count);

// Files that could not be used, and why, on standard error; nothing if there are none.
void warn_skipped(const std::string& skipped);

void add_bench(Command& app);
void add_train(Command& app);
void add_translate(Command& app);
void add_tokenizer(Command& app);
void add_attention(Command& app);
void add_corpus(Command& app);
void add_compare(Command& app);
void add_score(Command& app);
void add_generate(Command& app);
void add_eval(Command& app);
void add_embed(Command& app);
void add_classify(Command& app);  // and fill, match
void add_music(Command& app);
void add_continue(Command& app);
void add_serve(Command& app);
void add_model_commands(Command& app);  // info, convert, average
void add_music_motif(Command& music);   // of `heed music`
void add_image(Command& app);
void add_image_filters(Command& image);  // of `heed image`: denoise, texture
void add_image_models(Command& image);   // of `heed image`: sample, complete, upscale
void add_image_files(Command& image);    // of `heed image`: draw, unpack

}  // namespace heed::cli
