#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "formats/half.h"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

using SortedJson = nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;     // the limit of the reference implementation
constexpr int64_t kMaxBytes = int64_t{1} << 56;  // more than any memory, and what Shape can hold
constexpr const char* kMetadata = "__metadata__";

// Bytes of one element; 0 for an unknown dtype.
size_t element_size(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, size_t>, 15> kSizes = {{
      {"BOOL", 1},
      {"U8", 1},
      {"I8", 1},
      {"F8_E5M2", 1},
      {"F8_E4M3", 1},
      {"I16", 2},
      {"U16", 2},
      {"F16", 2},
      {"BF16", 2},
      {"I32", 4},
      {"U32", 4},
      {"F32", 4},
      {"F64", 8},
      {"I64", 8},
      {"U64", 8},
  }};
  const auto* found = std::find_if(kSizes.begin(), kSizes.end(),
                                   [&](const auto& entry) { return entry.first == dtype; });
  return found == kSizes.end() ? 0 : found->second;
}

// One tensor's description, checked key by key.
class EntryReader {
 public:
  EntryReader(const std::string& file, const std::string& name, std::span<const std::byte> data)
      : place_(fmt::format("[safetensors] {}: tensor '{}'", file, name)), data_(data) {
    entry_.name = name;
  }

  TensorEntry read(const SortedJson& description) {
    check(description.is_object(), "{} is described by {}, expected an object", place_,
          description.type_name());
    for (const auto& [key, value] : description.items()) {
      check(key == "dtype" || key == "shape" || key == "data_offsets",
            "{} has an unknown key '{}', expected dtype, shape and data_offsets", place_, key);
    }
    read_dtype(member(description, "dtype"));
    read_shape(member(description, "shape"));
    read_offsets(member(description, "data_offsets"));
    return std::move(entry_);
  }

 private:
  const SortedJson& member(const SortedJson& description, const char* key) const {
    const auto found = description.find(key);
    check(found != description.end(), "{} has no {}", place_, key);
    return *found;
  }

  uint64_t number(const SortedJson& value, const char* what) const {
    check(value.is_number_unsigned(), "{} has the {} {}, expected a whole number from 0 to 2^63-1",
          place_, what, shown(value));
    const auto result = value.get<uint64_t>();
    check(result <= INT64_MAX, "{} has the {} {}, expected a whole number from 0 to 2^63-1", place_,
          what, result);
    return result;
  }

  // Strings and lists could be as long as the header.
  static std::string shown(const SortedJson& value) {
    return value.is_number() || value.is_boolean() ? value.dump() : value.type_name();
  }

  void read_dtype(const SortedJson& dtype) {
    check(dtype.is_string(), "{} has a dtype of type {}, expected a string", place_,
          dtype.type_name());
    entry_.dtype = dtype.get<std::string>();
    check(element_size(entry_.dtype) > 0, "{} has the unknown dtype '{:.32}'", place_,
          entry_.dtype);
  }

  void read_shape(const SortedJson& shape) {
    check(shape.is_array(), "{} has a shape of type {}, expected a list", place_,
          shape.type_name());
    // Zeros are left out of the product, so that no part of the shape overflows later on either.
    int64_t extent = static_cast<int64_t>(element_size(entry_.dtype));
    bool empty = false;
    for (const SortedJson& value : shape) {
      const auto dimension = static_cast<int64_t>(number(value, "dimension"));
      entry_.shape.push_back(dimension);
      empty = empty || dimension == 0;
      check(!__builtin_mul_overflow(extent, std::max<int64_t>(dimension, 1), &extent) &&
                extent <= kMaxBytes,
            "{} has a shape of more than 2^56 bytes", place_);
    }
    expected_bytes_ = empty ? 0 : static_cast<uint64_t>(extent);
  }

  void read_offsets(const SortedJson& offsets) {
    check(offsets.is_array() && offsets.size() == 2,
          "{} has data_offsets that are not a list of two numbers", place_);
    const uint64_t begin = number(offsets[0], "data offset");
    const uint64_t end = number(offsets[1], "data offset");
    check(begin <= end, "{} has data_offsets [{},{}], which end before they begin", place_, begin,
          end);
    check(end <= data_.size(), "{} has data_offsets [{},{}], but the file has {} bytes of data",
          place_, begin, end, data_.size());
    check(end - begin == expected_bytes_,
          "{} has {} bytes at data_offsets [{},{}], expected {} for {} [{}]", place_, end - begin,
          begin, end, expected_bytes_, entry_.dtype, fmt::join(entry_.shape, ","));
    entry_.bytes = data_.subspan(begin, end - begin);
  }

  std::string place_;
  std::span<const std::byte> data_;
  TensorEntry entry_;
  uint64_t expected_bytes_ = 0;
};

// Only objects and lists as deep as the format has them, and no key twice: the JSON library would
// silently keep one of the two.
class HeaderGuard {
 public:
  explicit HeaderGuard(const std::string& file) : file_(file) {}

  bool operator()(int depth, SortedJson::parse_event_t event, const SortedJson& parsed) {
    using Event = SortedJson::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      check(depth <= (event == Event::object_start ? kTensorDepth : kListDepth),
            "[safetensors] {}: the header is nested deeper than the format allows", file_);
      if (depth == kTensorDepth) {
        inner_.clear();
      }
    } else if (event == Event::key) {
      auto& keys = depth == kTensorDepth ? outer_ : inner_;
      const auto& key = parsed.get_ref<const std::string&>();
      check(keys.insert(key).second, "[safetensors] {}: the header has '{}' twice", file_, key);
    }
    return true;
  }

 private:
  static constexpr int kTensorDepth = 1;
  static constexpr int kListDepth = 2;
  const std::string& file_;
  std::unordered_set<std::string> outer_;
  std::unordered_set<std::string> inner_;
};

SortedJson parse_header(std::string_view text, const std::string& file) {
  check(text.starts_with('{'), "[safetensors] {}: the header does not begin with '{{'", file);
  // The JSON library would take it for the end of the text.
  check(text.find('\0') == std::string_view::npos, "[safetensors] {}: the header has a NUL byte",
        file);
  try {
    return SortedJson::parse(text, HeaderGuard(file));
  } catch (const SortedJson::exception& error) {
    fail("[safetensors] {}: the header is not JSON: {}", file, error.what());
  }
}

std::map<std::string, std::string> read_metadata(const SortedJson& metadata,
                                                 const std::string& file) {
  check(metadata.is_object(), "[safetensors] {}: {} is of type {}, expected an object", file,
        kMetadata, metadata.type_name());
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : metadata.items()) {
    check(value.is_string(), "[safetensors] {}: {} has '{}' of type {}, expected a string", file,
          kMetadata, key, value.type_name());
    result.emplace(key, value.get<std::string>());
  }
  return result;
}

// Every byte of the data belongs to exactly one tensor.
void check_coverage(const std::vector<TensorEntry>& entries, std::span<const std::byte> data,
                    const std::string& file) {
  const std::byte* end = data.data();
  for (const TensorEntry& entry : entries) {
    const auto gap = entry.bytes.data() - end;
    check(gap >= 0, "[safetensors] {}: tensor '{}' overlaps the one before it by {} bytes", file,
          entry.name, -gap);
    check(gap <= 0, "[safetensors] {}: {} bytes before tensor '{}' belong to no tensor", file, gap,
          entry.name);
    end += entry.bytes.size();
  }
  const auto rest = data.data() + data.size() - end;
  check(rest == 0, "[safetensors] {}: {} bytes at the end belong to no tensor", file, rest);
}

template <typename Value>
Value value_at(std::span<const std::byte> bytes, size_t index) {
  Value value;
  std::memcpy(&value, bytes.data() + index * sizeof(Value), sizeof(Value));
  return value;
}

// On all cores: most of the time goes into memory that is touched for the first time.
template <typename From, typename To, typename Convert>
void convert(std::span<const std::byte> from, std::span<To> to, const Convert& one) {
  parallel_for(std::ssize(to), kParallelGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      to[i] = one(value_at<From>(from, i));
    }
  });
}

template <typename To>
void check_room(const std::filesystem::path& file, const TensorEntry& entry, std::span<To> to) {
  check(static_cast<uint64_t>(entry.size()) == to.size(),
        "[safetensors] {}: tensor '{}' is [{}], expected {} elements", file.string(), entry.name,
        fmt::join(entry.shape, ","), to.size());
}

template <typename To>
void copy_floats(const std::filesystem::path& file, const TensorEntry& entry, std::span<To> to) {
  check_room(file, entry, to);
  if (entry.dtype == "F32") {
    convert<float>(entry.bytes, to, [](float value) { return To(value); });
  } else if (entry.dtype == "BF16") {
    convert<bf16>(entry.bytes, to, [](bf16 value) { return To(float(value)); });
  } else if (entry.dtype == "F16") {
    convert<uint16_t>(entry.bytes, to, [](uint16_t bits) { return To(half_to_float(bits)); });
  } else if (entry.dtype == "F64") {
    convert<double>(entry.bytes, to, [](double value) { return To(static_cast<float>(value)); });
  } else {
    fail("[safetensors] {}: tensor '{}' is {}, expected F32, BF16, F16 or F64", file.string(),
         entry.name, entry.dtype);
  }
}

bool is_float(std::string_view dtype) { return dtype.starts_with('F') || dtype == "BF16"; }

const char* file_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::bf16:
      return "BF16";
    case DType::i32:
      return "I32";
    case DType::i8:
      return "I8";
  }
  return "?";
}

std::string quoted(const std::string& text, const std::filesystem::path& path) {
  try {
    return SortedJson(text).dump();
  } catch (const SortedJson::exception&) {
    fail("[safetensors] {}: the name or text '{}' is not UTF-8", path.string(), text);
  }
}

std::string header_of(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> items;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    pairs.reserve(metadata.size());
    for (const auto& [key, value] : metadata) {
      pairs.push_back(quoted(key, path) + ":" + quoted(value, path));
    }
    items.push_back(fmt::format(R"("{}":{{{}}})", kMetadata, fmt::join(pairs, ",")));
  }
  std::unordered_set<std::string> names = {kMetadata};
  size_t begin = 0;
  for (const NamedTensor& tensor : tensors) {
    check(names.insert(tensor.name).second, "[safetensors] {}: the name '{}' is {}", path.string(),
          tensor.name, tensor.name == kMetadata ? "reserved" : "given twice");
    const size_t end = begin + static_cast<size_t>(tensor.shape.size()) * size_of(tensor.dtype);
    items.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                                quoted(tensor.name, path), file_dtype(tensor.dtype), tensor.shape,
                                begin, end));
    begin = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(items, ","));
  constexpr size_t kAlignment = 64;  // the format asks for 8; 64 suits the vector units
  header.append((kAlignment - (kLengthBytes + header.size()) % kAlignment) % kAlignment, ' ');
  check(header.size() <= kMaxHeader,
        "[safetensors] {}: the header has {} bytes, at most {} allowed", path.string(),
        header.size(), kMaxHeader);
  return header;
}

}  // namespace

int64_t TensorEntry::size() const {
  int64_t product = 1;
  for (const int64_t dimension : shape) {
    product *= dimension;
  }
  return product;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  check(bytes.size() >= kLengthBytes,
        "[safetensors] {} has {} bytes, expected at least the {} of the header's length", file,
        bytes.size(), kLengthBytes);
  const auto length = value_at<uint64_t>(bytes, 0);
  check(length <= kMaxHeader, "[safetensors] {}: the header has {} bytes, at most {} allowed", file,
        length, kMaxHeader);
  check(length <= bytes.size() - kLengthBytes,
        "[safetensors] {}: the header has {} bytes, but only {} follow in the file", file, length,
        bytes.size() - kLengthBytes);
  const auto data = bytes.subspan(kLengthBytes + length);
  const SortedJson header =
      parse_header({reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length}, file);

  SafetensorsContent content;
  for (const auto& [name, description] : header.items()) {
    if (name == kMetadata) {
      content.metadata = read_metadata(description, file);
    } else {
      content.entries.push_back(EntryReader(file, name, data).read(description));
    }
  }
  // Ties are tensors without elements, which stay in the order of their names.
  std::stable_sort(content.entries.begin(), content.entries.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return std::pair(a.bytes.data(), a.bytes.size()) <
                            std::pair(b.bytes.data(), b.bytes.size());
                   });
  check_coverage(content.entries, data, file);
  return content;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), content_(parse_safetensors(file_.bytes(), path.string())) {
  for (const TensorEntry& entry : content_.entries) {
    by_name_.emplace(entry.name, &entry);
  }
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const TensorEntry& SafetensorsFile::at(std::string_view name) const {
  const TensorEntry* entry = find(name);
  check(entry != nullptr, "[safetensors] {} has no tensor '{}'", path().string(), name);
  return *entry;
}

Tensor SafetensorsFile::load(const TensorEntry& entry) const {
  check(entry.shape.size() <= size_t(Shape::kMaxRank),
        "[safetensors] {}: tensor '{}' has {} dimensions, at most {} allowed", path().string(),
        entry.name, entry.shape.size(), Shape::kMaxRank);
  const Shape shape{std::span<const int64_t>(entry.shape)};
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i8}) {
    if (entry.dtype == file_dtype(dtype)) {
      Tensor same = Tensor::empty(shape, dtype);
      std::copy(entry.bytes.begin(), entry.bytes.end(), static_cast<std::byte*>(same.raw()));
      return same;
    }
  }
  Tensor converted = Tensor::empty(shape, is_float(entry.dtype) ? DType::f32 : DType::i32);
  const auto size = static_cast<size_t>(converted.size());
  if (converted.dtype() == DType::f32) {
    copy(entry, std::span(converted.data<float>(), size));
  } else {
    copy(entry, std::span(converted.data<int32_t>(), size));
  }
  return converted;
}

void SafetensorsFile::copy(const TensorEntry& entry, std::span<float> to) const {
  copy_floats(path(), entry, to);
}

void SafetensorsFile::copy(const TensorEntry& entry, std::span<bf16> to) const {
  copy_floats(path(), entry, to);
}

void SafetensorsFile::copy(const TensorEntry& entry, std::span<int32_t> to) const {
  check_room(path(), entry, to);
  const auto checked = [&](auto value) {
    check(std::in_range<int32_t>(value),
          "[safetensors] {}: tensor '{}' holds {}, too large for i32", path().string(), entry.name,
          value);
    return static_cast<int32_t>(value);
  };
  const std::string& dtype = entry.dtype;
  if (dtype == "I32") {
    convert<int32_t>(entry.bytes, to, checked);
  } else if (dtype == "I64") {
    convert<int64_t>(entry.bytes, to, checked);
  } else if (dtype == "U64") {
    convert<uint64_t>(entry.bytes, to, checked);
  } else if (dtype == "U32") {
    convert<uint32_t>(entry.bytes, to, checked);
  } else if (dtype == "I16") {
    convert<int16_t>(entry.bytes, to, checked);
  } else if (dtype == "U16") {
    convert<uint16_t>(entry.bytes, to, checked);
  } else if (dtype == "I8") {
    convert<int8_t>(entry.bytes, to, checked);
  } else if (dtype == "U8" || dtype == "BOOL") {
    convert<uint8_t>(entry.bytes, to, checked);
  } else {
    fail("[safetensors] {}: tensor '{}' is {}, expected integers", path().string(), entry.name,
         dtype);
  }
}

NamedTensor named_tensor(std::string name, const Tensor& tensor) {
  return {std::move(name), tensor.dtype(), tensor.shape(), tensor.raw()};
}

namespace {

size_t bytes_of(const NamedTensor& tensor) {
  return static_cast<size_t>(tensor.shape.size()) * size_of(tensor.dtype);
}

// The tensors whose data is here, each in its place; the file has the header already.
void write_own_tensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                       size_t begin) {
  FilePieces pieces(file);
  for (const NamedTensor& tensor : tensors) {
    if (tensor.data != nullptr) {
      pieces.write({static_cast<const std::byte*>(tensor.data), bytes_of(tensor)}, begin);
    }
    begin += bytes_of(tensor);
  }
  pieces.sync();
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const FileWriters& writers) {
  const std::string header = header_of(path, tensors, metadata);
  const uint64_t length = header.size();
  std::optional<AtomicFile> file;
  if (writers.leads) {
    file.emplace(path);
    file->write(std::as_bytes(std::span(&length, 1)));
    file->write(header);
  }
  if (!writers.barrier) {
    for (const NamedTensor& tensor : tensors) {
      file->write({static_cast<const std::byte*>(tensor.data), bytes_of(tensor)});
    }
    file->commit();
    return;
  }
  const std::string temporary = writers.from_leader(file ? file->temporary().string() : "");
  write_own_tensors(temporary, tensors, kLengthBytes + header.size());
  writers.barrier();  // all of it is on disk
  if (file) {
    file->commit();
  }
  writers.barrier();  // it has its name
}

}  // namespace heed
