#include "models/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "formats/tensor_files.h"
#include "kernels/matmul/int8/int8.h"
#include "models/folder_output.h"
#include "models/imports/huggingface.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInt8 = "I8";
constexpr const char* kScale = ".scale";  // behind an int8 matrix's name: its scales'

// One of two that a folder holds: source.* or target.*.
std::optional<fs::path> tokenizer_file(const fs::path& folder, const std::string& side) {
  for (const char* name : {"tokenizer.model", "vocabulary.json", "tokenizer.json"}) {
    const fs::path file = folder / (side + "." + name);
    if (fs::exists(file)) {
      return file;
    }
  }
  return std::nullopt;
}

// The shape of one of the `parts` that a parameter is stored as.
std::vector<int64_t> stored_shape(const ParameterEntry& entry, size_t parts, bool transposed) {
  std::vector<int64_t> shape;
  shape.reserve(static_cast<size_t>(entry.whole_shape.rank()));
  for (int axis = 0; axis < entry.whole_shape.rank(); ++axis) {
    shape.push_back(entry.whole_shape[axis]);
  }
  if (!shape.empty()) {
    shape[0] /= static_cast<int64_t>(parts);
  }
  if (transposed) {
    std::swap(shape[0], shape[1]);
  }
  return shape;
}

// from [rows, columns] -> to [columns, rows], in squares that fit into the first-level cache.
void transpose(std::span<const float> from, std::span<float> to, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = 32;
  const int64_t strips = (columns + kSide - 1) / kSide;
  parallel_rows(strips, kSide * rows, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kSide; first < std::min(columns, end * kSide); first += kSide) {
      for (int64_t top = 0; top < rows; top += kSide) {
        for (int64_t column = first; column < std::min(columns, first + kSide); ++column) {
          for (int64_t row = top; row < std::min(rows, top + kSide); ++row) {
            to[static_cast<size_t>(column * rows + row)] =
                from[static_cast<size_t>(row * columns + column)];
          }
        }
      }
    }
  });
}

// The stored tensors of each parameter; a tensor that no parameter wants is an error.
class StoredParameters {
 public:
  // What is stored of heads may be left alone.
  StoredParameters(const fs::path& path, const ParameterStore& store, const std::string& kind,
                   bool without_heads = false)
      : files_(path), names_(kind, style_of(kind, files_)) {
    const TensorEntry* unwanted = extra(store, without_heads);
    check(unwanted == nullptr, "[model folder] {}: tensor {} belongs to no parameter of this model",
          files_.path().string(), unwanted != nullptr ? unwanted->name : "");
  }

  bool has(const ParameterEntry& entry) const {
    return files_.find(names_.parts(entry.name).front().name) != nullptr;
  }

  // The whole parameter, also if this process has a part of it.
  void read(const ParameterEntry& entry, std::span<float> values) {
    const std::vector<StoredPart> parts = names_.parts(entry.name);
    const size_t size = values.size() / parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      const TensorEntry* stored = files_.find(parts[i].name);
      check(stored != nullptr, "[model folder] {} has no tensor {}", files_.path().string(),
            parts[i].name);
      const bool transposed = parts[i].transposed && stored->dtype != kInt8;
      check_shape(*stored, stored_shape(entry, parts.size(), transposed));
      const std::span<float> part = values.subspan(i * size, size);
      if (!transposed) {
        copy(*stored, part);
      } else {
        staging_.resize(size);
        copy(*stored, staging_);
        transpose(staging_, part, entry.whole_shape[1], entry.whole_shape[0]);
      }
    }
  }

  bool int8() const {
    return std::ranges::any_of(files_.entries(),
                               [](const TensorEntry* entry) { return entry->dtype == kInt8; });
  }

 private:
  void copy(const TensorEntry& stored, std::span<float> values) const {
    if (stored.dtype != kInt8) {
      files_.copy(stored, values);
      return;
    }
    const std::string name = stored.name + kScale;
    const TensorEntry* scale = files_.find(name);
    check(stored.shape.size() == 2 && scale != nullptr && scale->dtype == "BF16",
          "[model folder] {}: tensor {} is I8 and needs scales, BF16 {}", files_.path().string(),
          stored.name, name);
    check_shape(*scale, {stored.shape[0], kernels::int8_blocks(stored.shape[1])});
    std::vector<bf16> scales(static_cast<size_t>(scale->size()));
    std::memcpy(scales.data(), scale->bytes.data(), scale->bytes.size());
    // Only read.
    auto* integers = const_cast<int8_t*>(reinterpret_cast<const int8_t*>(stored.bytes.data()));
    kernels::int8_dequantize({stored.shape[0], stored.shape[1], integers, scales.data()},
                             values.data());
  }

  void check_shape(const TensorEntry& stored, const std::vector<int64_t>& wanted) const {
    check(stored.shape == wanted, "[model folder] {}: tensor {} is [{}], expected [{}]",
          files_.path().string(), stored.name, fmt::join(stored.shape, ","),
          fmt::join(wanted, ","));
  }

  const TensorEntry* extra(const ParameterStore& store, bool without_heads) const {
    std::unordered_set<std::string> wanted;
    for (const ParameterEntry& entry : store.entries()) {
      for (const StoredPart& part : names_.parts(entry.name)) {
        wanted.insert(part.name);
        if (const TensorEntry* stored = files_.find(part.name);
            stored != nullptr && stored->dtype == kInt8) {
          wanted.insert(part.name + kScale);
        }
      }
    }
    for (const TensorEntry* stored : files_.entries()) {
      if (!wanted.contains(stored->name) && !names_.ignored(stored->name) &&
          !(without_heads && names_.head(stored->name))) {
        return stored;
      }
    }
    return nullptr;
  }

  TensorFiles files_;
  StoredNames names_;
  std::vector<float> staging_;  // a matrix on its way
};

}  // namespace

void save_tokenizers(const fs::path& folder, const Tokenizers& tokenizers) {
  const auto save = [&](const std::string& prefix, const Tokenizer& tokenizer) {
    write_file(folder / (prefix + std::string(tokenizer.file_name())), tokenizer.serialize());
  };
  if (tokenizers.source == nullptr) {
    return;
  }
  if (tokenizers.joint()) {
    save("", *tokenizers.source);
  } else {
    save("source.", *tokenizers.source);
    save("target.", *tokenizers.target);
  }
}

Tokenizers load_tokenizers(const fs::path& folder, const Json& model) {
  return model_spec(model).has_tokenizer() ? load_tokenizers(folder) : Tokenizers();
}

bool has_tokenizers(const fs::path& folder) {
  return has_tokenizer(folder) || (tokenizer_file(folder, "source").has_value() &&
                                   tokenizer_file(folder, "target").has_value());
}

Tokenizers load_tokenizers(const fs::path& folder) {
  if (has_tokenizer(folder)) {
    const auto tokenizer = load_tokenizer_folder(folder);
    return {tokenizer, tokenizer};
  }
  const auto source = tokenizer_file(folder, "source");
  const auto target = tokenizer_file(folder, "target");
  check(source && target,
        "[model folder] {} has no tokenizer: neither tokenizer.model, vocabulary.json, "
        "tokenizer.json nor source.* and target.*",
        folder.string());
  return {load_tokenizer(*source), load_tokenizer(*target)};
}

std::vector<int32_t> LoadedFolder::encode_source(std::string_view text) const {
  std::vector<int32_t> ids = tokenizers.source->encode(text);
  if (config.source_end) {
    ids.push_back(tokenizers.source->special().end);
  }
  return ids;
}

namespace {

// The model knows every token, and the tokens of music are those of its form.
void check_tokenizers(const fs::path& folder, const LoadedFolder& loaded) {
  const ModelSpec spec = loaded.spec();
  const auto check_size = [&](const char* side, const Tokenizer& tokenizer, int64_t vocabulary) {
    check(tokenizer.size() <= vocabulary,
          "[model folder] {}: the {} tokenizer has {} pieces, the model a vocabulary of {}",
          folder.string(), side, tokenizer.size(), vocabulary);
  };
  check_size("target", *loaded.tokenizers.target, spec.target_vocabulary);
  check_size("source", *loaded.tokenizers.source, spec.source_vocabulary);
  if (const std::optional<MusicForm> form = loaded.config.music()) {
    check(music_form(*loaded.tokenizers.target) == *form,
          "[model folder] {}: config.json says that the content is {}, the tokenizer is that of "
          "another form of music",
          folder.string(), *form == MusicForm::chorale ? "chorale" : "performance");
  }
}

}  // namespace

void load_folder(const fs::path& folder, std::optional<DType> compute, LoadedFolder& loaded) {
  check(fs::is_directory(folder), "[model folder] {} is not a folder", folder.string());
  loaded.config = load_config(folder);
  const Json& model = loaded.config.model;
  loaded.tokenizers = load_tokenizers(folder, model);
  check(has_tensors(folder),
        "[model folder] {} has no model.safetensors; has the training not finished?",
        folder.string());
  loaded.any = make_model(loaded.store.root(), model);
  guess_what_folder_leaves_out(loaded.config, loaded.tokenizers.target.get());
  if (loaded.tokenizers.source != nullptr) {
    check_tokenizers(folder, loaded);
  }
  StoredParameters stored(folder, loaded.store, model.value("kind", ""));
  loaded.store.allocate(
      compute.value_or(stored.int8() ? DType::i8 : DType::f32),
      [&](const ParameterEntry& entry, std::span<float> values) { stored.read(entry, values); });
}

namespace {

// What a file gets of a store: views of its values, and whatever had to be made for the file, which
// lives until it is written.
class TensorsToWrite {
 public:
  TensorsToWrite(const Json& model, DType dtype) : names_(model.value("kind", "")), dtype_(dtype) {}

  // `value` is the whole parameter.
  void add(const ParameterEntry& entry, const Tensor& value) {
    const std::vector<StoredPart> parts = names_.parts(entry.name);
    const int64_t rows = value.rank() == 0 ? 1 : value.dim(0);
    const int64_t each = rows / static_cast<int64_t>(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto first = static_cast<int64_t>(i) * each;
      const Tensor part = parts.size() > 1 ? value.rows(first, first + each) : value;
      if (dtype_ == DType::i8 && entry.product) {
        add_int8(parts[i].name, part);
      } else {
        add_floats(parts[i], part);
      }
    }
  }

  // A parameter that another process writes.
  void leave(const ParameterEntry& entry) {
    for (const StoredPart& part : names_.parts(entry.name)) {
      const std::vector<int64_t> shape =
          stored_shape(entry, names_.parts(entry.name).size(), part.transposed);
      tensors_.push_back({.name = part.name, .dtype = DType::f32, .shape = Shape(shape)});
    }
  }

  const std::vector<NamedTensor>& tensors() const { return tensors_; }

 private:
  void add_tensor(const std::string& name, const Tensor& tensor) {
    kept_.push_back(tensor);
    tensors_.push_back(named_tensor(name, tensor));
  }

  void add_floats(const StoredPart& stored, Tensor part) {
    if (stored.transposed) {
      const Tensor turned = Tensor::empty({part.dim(1), part.dim(0)});
      transpose(part.span<float>(), turned.span<float>(), part.dim(0), part.dim(1));
      part = turned;
    }
    const bool narrow = dtype_ != DType::f32 && part.rank() >= 2;
    add_tensor(stored.name, narrow ? part.to(DType::bf16) : part);
  }

  void add_int8(const std::string& name, const Tensor& part) {
    for (const float value : part.span<float>()) {
      check(std::isfinite(value), "[model folder] {} holds {}, which int8 cannot represent", name,
            value);
    }
    const Tensor values = Tensor::empty(part.shape(), DType::i8);
    const Tensor scales =
        Tensor::empty({part.dim(0), kernels::int8_blocks(part.dim(1))}, DType::bf16);
    kernels::int8_quantize(part.data<float>(),
                           {part.dim(0), part.dim(1), values.data<int8_t>(), scales.data<bf16>()});
    add_tensor(name, values);
    add_tensor(name + kScale, scales);
  }

  StoredNames names_;
  DType dtype_;
  std::vector<NamedTensor> tensors_;
  std::vector<Tensor> kept_;
};

}  // namespace

namespace {

// Parameters that lie this near to each other are written by the same process.
constexpr int64_t kWriterTurn = int64_t{1} << 20;

}  // namespace

void save_parameters(const fs::path& file, const ParameterStore& store, const Json& model,
                     DType dtype) {
  TensorsToWrite writing(model, dtype);
  check(dtype == DType::f32 || store.mesh().alone(),
        "[model folder] {}: a mesh writes f32 weights, not {}", file.string(), name_of(dtype));
  for (const ParameterEntry& entry : store.entries()) {
    if (const std::optional<Tensor> value = to_write(store, entry, entry.value)) {
      writing.add(entry, *value);
    } else {
      writing.leave(entry);
    }
  }
  // Hugging Face's loader wants to know who wrote it.
  write_safetensors(file, writing.tensors(),
                    to_huggingface(model).empty()
                        ? std::map<std::string, std::string>{}
                        : std::map<std::string, std::string>{{"format", "pt"}},
                    writers_of(store.mesh()));
}

std::optional<Tensor> to_write(const ParameterStore& store, const ParameterEntry& entry,
                               const Tensor& part) {
  if (store.mesh().alone()) {
    return part;
  }
  if (!store.owns(entry)) {
    return std::nullopt;
  }
  // Of those that have a part of it, one writes; which one changes, so that all have work.
  Tensor whole = whole_of(entry, part);
  const Group& members = entry.cut.whole() ? store.mesh().along("heads") : *entry.cut.group;
  const int64_t turn = entry.offset / kWriterTurn % members.size();
  return members.index() == turn ? std::optional(std::move(whole)) : std::nullopt;
}

FileWriters writers_of(const Mesh& mesh) {
  if (mesh.alone()) {
    return {};
  }
  return {
      .leads = mesh.leads(),
      .from_leader = [&mesh](const std::string& text) { return mesh.world().broadcast_text(text); },
      .barrier = [&mesh] { mesh.world().barrier(); }};
}

void save_folder(const fs::path& folder, const FolderConfig& config, const Tokenizers& tokenizers,
                 const ParameterStore& store, DType dtype) {
  save_folder(folder, config, tokenizers, store, dtype, Existing::refuse);
}

void convert_folder(const fs::path& input, const fs::path& output, DType dtype) {
  convert_folder(input, output, dtype, Existing::refuse);
}

bool is_model_folder(const fs::path& path) {
  const fs::path file = path / "config.json";
  if (!fs::is_regular_file(file)) {
    return false;
  }
  const Json json = Json::parse(read_file(file), nullptr, false);
  return json.is_object() && (is_huggingface(json) || json.value("format", Json()) == "heed");
}

std::vector<std::string> load_parameters(const fs::path& path, ParameterStore& store,
                                         const Json& model,
                                         const std::function<bool(std::string_view)>& may_lack) {
  StoredParameters stored(path, store, model.value("kind", ""), may_lack != nullptr);
  std::vector<std::string> missing;
  std::vector<float> whole;
  std::vector<float> part;
  for (const ParameterEntry& entry : store.entries()) {
    if (may_lack && may_lack(entry.name) && !stored.has(entry)) {
      missing.push_back(entry.name);
      continue;
    }
    whole.resize(static_cast<size_t>(entry.whole_shape.size()));
    stored.read(entry, whole);
    part.resize(static_cast<size_t>(entry.shape.size()));
    take_part(entry, whole, part);
    store.set_value(entry, part);
  }
  return missing;
}

}  // namespace heed
