// What the commands of the program share. A command is one file with one function that adds it to
// the command line; main.cc has the table of these functions.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "tensor/dtype.h"

namespace heed {
struct SamplingOptions;
}  // namespace heed

namespace heed::cli {

// Lines that commands read ahead: enough to sort by length, not the whole of an endless stream.
inline constexpr size_t kLinePool = 2048;

DType dtype_named(const std::string& name);

// `NAME f32|bf16|int8`: `set` gets what is given.
void add_dtype(Command& command, const std::string& name, const std::string& help,
               const std::function<void(DType)>& set);

// `--model DIR`, which is required.
void add_model(Command& command, std::string& model);

// `--precision f32|bf16|int8`, for commands that run a model.
void add_precision(Command& command, std::optional<DType>& precision);

// `--temperature` and the other options of sampling, for commands that generate.
void add_sampling(Command& command, SamplingOptions& options);

// An Error if the folder that `file` would be written to does not exist, for commands that work for
// long before they write. An empty name is no file.
void check_output(const std::filesystem::path& file);

// The same, and the name has to end in one of the extensions. `option` is what users type.
void check_output(const std::string& option, const std::filesystem::path& file,
                  const std::vector<std::string>& extensions);

// `path` as it is for one file, NAME-1.mid, NAME-2.mid and so on for several.
std::filesystem::path numbered_path(const std::filesystem::path& path, size_t number, size_t count);

// "NAME=PATH": something with the name that it has in tables and legends.
struct NamedPath {
  std::string name;
  std::string path;
};
NamedPath parse_named(const std::string& text);

// A word of a command as a shell has to be given it.
std::string shell_word(const std::string& word);

// Files that could not be used, and why, on standard error; nothing if there are none.
void warn_skipped(const std::string& skipped);

void add_bench(Command& app);
void add_train(Command& app);
void add_plan(Command& app);
void add_distil(Command& app);
void add_translate(Command& app);
void add_tokenizer(Command& app);
void add_attention(Command& app);
void add_corpus(Command& app);
void add_data(Command& app);
void add_compare(Command& app);
void add_compare_compressors(Command& compare);  // of `heed compare`
void add_compare_decoders(Command& compare);     // the same
void add_compare_memory(Command& compare);       // the same
void add_score(Command& app);
void add_generate(Command& app);
void add_eval(Command& app);
void add_embed(Command& app);
void add_classify(Command& app);  // and fill, match
void add_ask(Command& app);
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
