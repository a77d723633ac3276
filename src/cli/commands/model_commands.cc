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

void add_model_commands(Command& app) {
  auto folder = std::make_shared<std::string>();
  auto tensors = std::make_shared<bool>(false);
  Command show = app.subcommand("info", "Say what is in a model folder");
  show.option("FOLDER", *folder, "model or run folder").required();
  show.flag("--tensors", *tensors, "list every tensor");
  show.footer("Example:\n  heed info runs/demo");
  show.action([folder, tensors] { info(*folder, *tensors); });

  auto import = std::make_shared<Ctranslate2Import>();
  Command convert =
      app.subcommand("convert", "Make weights smaller, or import a model of another program");
  convert
      .option("INPUT", import->input,
              "model folder; or CTranslate2 folder, model.bin or model.safetensors")
      .required();
  add_dtype(convert, "--dtype", "of the weights: int8 takes a quarter of f32's room",
            [import](DType dtype) { import->dtype = dtype; });
  convert.option("--output", import->output, "new model folder").required();
  convert.option("--vocabulary", import->vocabulary, "folder of the vocabularies");
  convert.option("--heads", import->heads, "attention heads (default: by the model's kind)")
      .range(1, 1024);
  convert.footer(
      "Examples:\n"
      "  heed convert runs/m30k --dtype int8 --output models/m30k-int8\n"
      "  heed convert ctranslate2-folder --output models/aren");
  convert.action([import] {
    if (is_model_folder(import->input)) {
      convert_folder(import->input, import->output, import->dtype);
    } else {
      import_ctranslate2(*import);
    }
    info(import->output, false);
  });

  auto mean = std::make_shared<AverageArguments>();
  Command command = app.subcommand("average", "Average the weights of several models");
  command.option("FOLDERS", mean->folders, "model folders, or one run folder with --last")
      .required();
  command.option("--last", mean->last, "the last N checkpoints of a run").range(1, 10000);
  command.option("--output", mean->output, "new model folder").required();
  command.footer("Example:\n  heed average runs/m30k --last 5 --output models/m30k");
  command.action([mean] { average(*mean); });
}

}  // namespace heed::cli
