// `heed info`, `heed convert`, `heed average`: what is done with model folders besides using them.
// And the options that commands which use models share.
#include <fmt/core.h>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/command.h"
#include "formats/tensor_files.h"
#include "models/folder.h"
#include "models/imports/import_ctranslate2.h"
#include "train/checkpoint.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

void print_tokenizer(const char* role, const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  fmt::print("{} tokenizer: {}, {} tokens, pad {} start {} end {} unk {}\n", role, tokenizer.kind(),
             tokenizer.size(), special.pad, special.start, special.end, special.unk);
}

void info(const std::string& folder, bool tensors) {
  LoadedFolder model;
  load_folder(folder, {}, model);
  const TensorFiles files{fs::path(folder)};
  fmt::print("{}: {}, {:.2f} million parameters, {:.1f} MiB\n", folder, model.spec().kind,
             static_cast<double>(model.store.count()) / 1e6,
             static_cast<double>(files.bytes()) / (1 << 20));
  if (!model.tokenizers.joint()) {
    print_tokenizer("source", *model.tokenizers.source);
    print_tokenizer("target", *model.tokenizers.target);
  } else if (model.spec().has_tokenizer()) {
    print_tokenizer("joint", *model.tokenizers.source);
  }
  for (const auto& item : model.config.model.items()) {
    fmt::print("  {:<20} {}\n", item.key(), item.value().dump());
  }
  if (const auto checkpoints = list_checkpoints(folder); !checkpoints.empty()) {
    fmt::print("checkpoints:\n");
    for (const fs::path& checkpoint : checkpoints) {
      fmt::print("  {}\n", checkpoint.string());
    }
  }
  for (size_t i = 0; tensors && i < files.entries().size(); ++i) {
    const TensorEntry& entry = *files.entries()[i];
    fmt::print("  {} {} [{}]\n", entry.name, entry.dtype, fmt::join(entry.shape, ","));
  }
}

struct AverageArguments {
  std::vector<std::string> folders;
  int64_t last = 0;
  std::string output;
};

void average(const AverageArguments& arguments) {
  std::vector<fs::path> folders(arguments.folders.begin(), arguments.folders.end());
  if (arguments.last > 0) {
    check(folders.size() == 1, "[average] --last takes one run folder, {} are given",
          folders.size());
    folders = list_checkpoints(folders.front());
    const auto count = static_cast<int64_t>(folders.size());
    check(count >= arguments.last, "[average] {} has {} checkpoints, expected at least {}",
          arguments.folders.front(), count, arguments.last);
    folders.erase(folders.begin(), folders.end() - arguments.last);
  }
  average_models(folders, arguments.output);
  fmt::print("{}: the mean of {} models\n", arguments.output, folders.size());
}

}  // namespace

void add_sampling(CLI::App& command, SamplingOptions& options) {
  command.add_option("--temperature", options.temperature, "0: always the likeliest token")
      ->capture_default_str();
  command.add_option("--top-k", options.top_k, "draw from the k likeliest tokens; 0: from all")
      ->capture_default_str();
  command.add_option("--top-p", options.top_p, "draw from the likeliest that have this together")
      ->capture_default_str();
  command
      .add_option("--min-p", options.min_p, "draw from those with this share of the likeliest's")
      ->capture_default_str();
  command
      .add_option("--repetition-penalty", options.repetition_penalty,
                  "above 1: what was said is less likely")
      ->capture_default_str();
}

void add_model_commands(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  auto tensors = std::make_shared<bool>(false);
  CLI::App* show = app.add_subcommand("info", "Say what is in a model folder");
  show->add_option("FOLDER", *folder, "model or run folder")->required();
  show->add_flag("--tensors", *tensors, "list every tensor");
  show->footer("Example:\n  heed info runs/demo");
  show->callback([folder, tensors] { info(*folder, *tensors); });

  auto import = std::make_shared<Ctranslate2Import>();
  CLI::App* convert =
      app.add_subcommand("convert", "Make weights smaller, or import a model of another program");
  convert
      ->add_option("INPUT", import->input,
                   "model folder; or CTranslate2 folder, model.bin or model.safetensors")
      ->required();
  add_dtype(*convert, "--dtype", "of the weights: int8 takes a quarter of f32's room",
            [import](DType dtype) { import->dtype = dtype; });
  convert->add_option("--output", import->output, "new model folder")->required();
  convert->add_option("--vocabulary", import->vocabulary, "folder of the vocabularies");
  convert->add_option("--heads", import->heads, "attention heads (default: by the model's kind)")
      ->check(CLI::Range(1, 1024));
  convert->footer(
      "Examples:\n"
      "  heed convert runs/m30k --dtype int8 --output models/m30k-int8\n"
      "  heed convert ctranslate2-folder --output models/aren");
  convert->callback([import] {
    if (is_model_folder(import->input)) {
      convert_folder(import->input, import->output, import->dtype);
    } else {
      import_ctranslate2(*import);
    }
    info(import->output, false);
  });

  auto mean = std::make_shared<AverageArguments>();
  CLI::App* command = app.add_subcommand("average", "Average the weights of several models");
  command->add_option("FOLDERS", mean->folders, "model folders, or one run folder with --last")
      ->required();
  command->add_option("--last", mean->last, "the last N checkpoints of a run")
      ->check(CLI::Range(1, 10000));
  command->add_option("--output", mean->output, "new model folder")->required();
  command->footer("Example:\n  heed average runs/m30k --last 5 --output models/m30k");
  command->callback([mean] { average(*mean); });
}

}  // namespace heed::cli
