#include "models/imports/import_ctranslate2.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "formats/ctranslate2.h"
#include "formats/safetensors.h"
#include "models/folder.h"
#include "models/folder_output.h"
#include "models/registry.h"
#include "models/translation/transformer.h"
#include "text/vocabulary.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// Tensors under CTranslate2's names, from its own file or from the same rewritten as safetensors.
struct Weights {
  std::string file;
  std::string spec = "TransformerBase";
  std::map<std::string, Tensor> tensors = {};

  const Tensor& at(const std::string& name) const {
    const auto found = tensors.find(name);
    check(found != tensors.end(), "[convert] {} has no tensor {}", file, name);
    return found->second;
  }
  bool has(const std::string& name) const { return tensors.contains(name); }
  int64_t layers(const std::string& side) const {
    int64_t count = 0;
    while (has(fmt::format("{}/layer_{}/ffn/linear_0/weight", side, count))) {
      ++count;
    }
    return count;
  }
};

Weights read_weights(const fs::path& input) {
  fs::path file = input;
  if (fs::is_directory(input)) {
    file = fs::exists(input / "model.bin") ? input / "model.bin" : input / "model.safetensors";
  }
  check(fs::exists(file), "[convert] {} has neither model.bin nor model.safetensors",
        input.string());
  Weights weights{.file = file.string()};
  if (file.extension() == ".bin") {
    Ctranslate2Model model = read_ctranslate2(file);
    weights.spec = model.spec;
    for (Ctranslate2Tensor& tensor : model.tensors) {
      weights.tensors[tensor.name] = tensor.value;
    }
  } else {
    const SafetensorsFile stored(file);
    if (const auto spec = stored.metadata().find("spec"); spec != stored.metadata().end()) {
      weights.spec = spec->second;
    }
    for (const TensorEntry& entry : stored.entries()) {
      weights.tensors[entry.name] = stored.load(entry);
    }
  }
  return weights;
}

// What CTranslate2 calls one of our parameters.
std::string foreign_name(const std::string& name) {
  static const std::vector<std::pair<std::string, std::string>> parts{
      {"source_embedding.weight", "encoder/embeddings/weight"},
      {"target_embedding.weight", "decoder/embeddings/weight"},
      {"embedding.weight", "decoder/embeddings/weight"},
      {"output.", "decoder/projection/"},
      {"encoder.norm.", "encoder/layer_norm/"},
      {"decoder.norm.", "decoder/layer_norm/"},
      {"norm1.", "self_attention/layer_norm/"},
      {"norm2.", "attention/layer_norm/"},
      {"norm3.", "ffn/layer_norm/"},
      {"self_attention.qkv.", "self_attention/linear_0/"},
      {"self_attention.out.", "self_attention/linear_1/"},
      {"cross_attention.q.", "attention/linear_0/"},
      {"cross_attention.kv.", "attention/linear_1/"},
      {"cross_attention.out.", "attention/linear_2/"},
      {"feed_forward.linear1.", "ffn/linear_0/"},
      {"feed_forward.linear2.", "ffn/linear_1/"},
      {"encoder.", "encoder/layer_"},
      {"decoder.", "decoder/layer_"}};
  std::string foreign;
  for (size_t at = 0; at < name.size();) {
    const std::string rest = name.substr(at);
    bool known = false;
    for (const auto& [ours, theirs] : parts) {
      if (rest.starts_with(ours)) {
        foreign += theirs;
        at += ours.size();
        known = true;
        break;
      }
    }
    if (!known) {
      foreign += name[at] == '.' ? '/' : name[at];
      ++at;
    }
  }
  const bool norm = foreign.find("layer_norm/") != std::string::npos;
  const size_t last = foreign.rfind('/') + 1;
  if (norm) {
    foreign.replace(last, std::string::npos, foreign.substr(last) == "weight" ? "gamma" : "beta");
  }
  return foreign;
}

TransformerConfig config_of(const Weights& weights, int64_t heads) {
  const Tensor& source = weights.at("encoder/embeddings/weight");
  const Tensor& target = weights.at("decoder/embeddings/weight");
  check(source.rank() == 2 && target.rank() == 2, "[convert] {}: the embeddings are {} and {}",
        weights.file, source.shape(), target.shape());
  TransformerConfig config;
  config.vocabulary = target.dim(0);
  config.source_vocabulary = source.dim(0);
  config.width = target.dim(1);
  config.heads = heads > 0 ? heads : (weights.spec == "TransformerBig" ? 16 : 8);
  config.hidden = weights.at("encoder/layer_0/ffn/linear_0/weight").dim(0);
  config.encoder_layers = weights.layers("encoder");
  config.decoder_layers = weights.layers("decoder");
  config.pre_norm = true;
  config.positions = "sinusoidal_halves";
  config.first_position = 1;
  config.tied_output = !weights.has("decoder/projection/weight");
  config.output_bias = weights.has("decoder/projection/bias");
  return config;
}

std::shared_ptr<const Tokenizer> read_vocabulary(const std::vector<fs::path>& folders,
                                                 const std::string& name) {
  for (const fs::path& folder : folders) {
    for (const std::string& candidate : {name, std::string("shared_vocabulary.txt")}) {
      if (fs::exists(folder / candidate)) {
        std::istringstream stream(read_file(folder / candidate));
        std::vector<std::string> lines;
        for (std::string line; std::getline(stream, line);) {
          lines.push_back(line);
        }
        return Vocabulary::from_lines(lines, (folder / candidate).string());
      }
    }
  }
  fail("[convert] no {} beside the model; say where it is with --vocabulary", name);
}

}  // namespace

void import_ctranslate2(const Ctranslate2Import& import) {
  check_output_folder(import.output, import.existing);  // before the work
  const Weights weights = read_weights(import.input);
  const fs::path folder =
      fs::is_directory(import.input) ? import.input : import.input.parent_path();
  const std::vector<fs::path> folders = import.vocabulary.empty()
                                            ? std::vector{folder, folder.parent_path()}
                                            : std::vector{import.vocabulary};
  const Tokenizers tokenizers{read_vocabulary(folders, "source_vocabulary.txt"),
                              read_vocabulary(folders, "target_vocabulary.txt")};
  FolderConfig config;
  config.source_end = false;
  config.model = config::write(config_of(weights, import.heads));
  config.model["kind"] = "transformer";
  config.model = resolve_model_config(config.model, weights.file);
  ParameterStore store;
  const auto model = make_model(store.root(), config.model);
  store.allocate(DType::f32, [&](const ParameterEntry& entry, std::span<float> values) {
    const std::string name = foreign_name(entry.name);
    const Tensor& stored = weights.at(name);
    check(stored.shape() == entry.shape, "[convert] {}: tensor {} is {}, expected {}", weights.file,
          name, stored.shape(), entry.shape);
    check(stored.dtype() == DType::f32 || stored.dtype() == DType::bf16,
          "[convert] {}: tensor {} is {}, expected floats", weights.file, name, stored);
    const Tensor floats = stored.to(DType::f32);
    std::memcpy(values.data(), floats.raw(), floats.bytes());
  });
  save_folder(import.output, config, tokenizers, store, import.dtype, import.existing);
}

}  // namespace heed
