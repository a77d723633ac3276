// `heed info`, `heed convert`, `heed average`: what is done with model folders besides using them.
// And the options that commands which use models share.
#include <fmt/core.h>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "cli/signals.h"
#include "formats/tensor_files.h"
#include "models/folder.h"
#include "models/imports/import_ctranslate2.h"
#include "train/checkpoint.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

void print_tokenizer(const char* role, const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  std::string ids;
  for (const auto& [name, id] : {std::pair("pad", special.pad), std::pair("start", special.start),
                                 std::pair("end", special.end), std::pair("unk", special.unk)}) {
    ids += id < 0 ? std::string() : fmt::format(", {} {}", name, id);
  }
  fmt::print("{}: {}, {} tokens{}\n", role, tokenizer.kind(), tokenizer.size(), ids);
}

void info(const std::string& folder, bool tensors) {
  LoadedFolder model;
  load_folder(folder, {}, model);
  const TensorFiles files{fs::path(folder)};
  fmt::print("{}: {}, {:.2f} million parameters, {:.1f} MiB\n", folder, model.spec().kind,
             static_cast<double>(model.store.count()) / 1e6,
             static_cast<double>(files.bytes()) / (1 << 20));
  if (!model.tokenizers.joint()) {
    print_tokenizer("source tokenizer", *model.tokenizers.source);
    print_tokenizer("target tokenizer", *model.tokenizers.target);
  } else if (model.spec().has_tokenizer()) {
    const bool translates = model.spec().interface == ModelInterface::translation;
    print_tokenizer(translates ? "tokenizer of source and target" : "tokenizer",
                    *model.tokenizers.source);
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
  bool force = false;
};

Existing existing(bool force) { return force ? Existing::replace : Existing::refuse; }

void add_force(Command& command, bool& force) {
  command.flag("--force", force, "replace a model or run that is already in the output folder");
}

void average(const AverageArguments& arguments) {
  end_on_signal();
  std::vector<fs::path> folders(arguments.folders.begin(), arguments.folders.end());
  if (arguments.last > 0) {
    check(folders.size() == 1, "[average] --last takes one run folder, not {}", folders.size());
    folders = list_checkpoints(folders.front());
    const auto count = static_cast<int64_t>(folders.size());
    check(count >= arguments.last, "[average] {} has {} checkpoints, expected at least {}",
          arguments.folders.front(), count, arguments.last);
    folders.erase(folders.begin(), folders.end() - arguments.last);
  }
  ShareProgress progress;
  progress.doing("averaging");
  average_models(folders, arguments.output, existing(arguments.force));
  progress.clear();
  fmt::print("{}: the mean of {} models\n", arguments.output, folders.size());
}

}  // namespace

void add_model_commands(Command& app) {
  auto folder = std::make_shared<std::string>();
  auto tensors = std::make_shared<bool>(false);
  Command show = app.subcommand("info", "Describe a model folder");
  show.group("Tools");
  show.option("FOLDER", *folder, "model or run folder").required();
  show.flag("--tensors", *tensors, "list every tensor");
  show.example("Describe a model", "heed info runs/demo");
  show.example("List its tensors", "heed info runs/demo --tensors");
  show.action([folder, tensors] { info(*folder, *tensors); });

  auto import = std::make_shared<Ctranslate2Import>();
  Command convert =
      app.subcommand("convert", "Shrink the weights of a model, or import a CTranslate2 model");
  convert.group("Tools");
  convert
      .option("INPUT", import->input,
              "model folder; or CTranslate2 folder, model.bin or model.safetensors")
      .required();
  add_dtype(convert, "--dtype", "number format of the weights; int8 takes a quarter of f32's space",
            [import](DType dtype) { import->dtype = dtype; });
  convert.option("--output", import->output, "new model folder").value_name("DIR").required();
  auto force = std::make_shared<bool>(false);
  add_force(convert, *force);
  convert.option("--vocabulary", import->vocabulary, "folder of the vocabularies, for CTranslate2")
      .value_name("DIR");
  convert.option("--heads", import->heads, "attention heads (default: by the kind of the model)")
      .range(1, 1024);
  convert.example("Quantise a model to int8",
                  "heed convert runs/m30k --dtype int8 --output models/m30k-int8");
  convert.example("Import a CTranslate2 model",
                  "heed convert ctranslate2-folder --output models/aren");
  convert.action([import, force] {
    end_on_signal();
    import->existing = existing(*force);
    ShareProgress progress;
    progress.doing("converting");
    if (is_model_folder(import->input)) {
      convert_folder(import->input, import->output, import->dtype, import->existing);
    } else {
      import_ctranslate2(*import);
    }
    progress.clear();
    info(import->output, false);
  });

  auto mean = std::make_shared<AverageArguments>();
  Command command = app.subcommand("average", "Average the weights of several models");
  command.group("Tools");
  command.option("FOLDER", mean->folders, "model folders, or one run folder with --last")
      .required();
  command.option("--last", mean->last, "average the last N checkpoints of a run").range(1, 10000);
  command.option("--output", mean->output, "new model folder").value_name("DIR").required();
  add_force(command, mean->force);
  command.example("Average the last five checkpoints of a run",
                  "heed average runs/m30k --last 5 --output models/m30k");
  command.action([mean] { average(*mean); });
}

}  // namespace heed::cli
