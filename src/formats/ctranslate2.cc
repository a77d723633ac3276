// The file, little-endian: u32 version, string spec, u32 revision, u32 number of tensors, then per
// tensor: string name, u8 rank, u32 per dimension, u8 bytes per item, u32 number of items, items.
// A string is its u16 length with the closing NUL, and its bytes with that NUL.
//
// Items of four bytes are f32, of two int16, of one int8. Integers X stand for X / X_scale, where
// the tensor "X_scale" has one number for all of X or one for each of its leading rows.
#include "formats/ctranslate2.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr uint32_t kVersion = 2;

struct RawTensor {
  std::string name;
  Shape shape;
  size_t item_size = 0;
  std::span<const std::byte> items;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  size_t left() const { return bytes_.size() - position_; }

  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    check(count <= left(), "[ctranslate2] {}: {} needs {} bytes at byte {}, but {} are left", file_,
          what, count, position_, left());
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  template <typename Number>
  Number number(std::string_view what) {
    Number value;
    std::memcpy(&value, take(sizeof(Number), what).data(), sizeof(Number));
    return value;
  }

  std::string string(std::string_view what) {
    const auto length = number<uint16_t>(what);
    const auto taken = take(length, what);
    const std::string_view text(reinterpret_cast<const char*>(taken.data()), taken.size());
    check(text.find('\0') == text.size() - 1 && !text.empty(),
          "[ctranslate2] {}: {} before byte {} does not end with its only NUL", file_, what,
          position_);
    return std::string(text.substr(0, text.size() - 1));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  size_t position_ = 0;
};

Shape read_shape(Reader& reader, const std::string& place) {
  const auto rank = reader.number<uint8_t>("a rank");
  check(rank <= Shape::kMaxRank, "{} has {} dimensions, at most {} allowed", place, rank,
        Shape::kMaxRank);
  std::vector<int64_t> dimensions;
  // More than their number, a u32, can count. Zeros are left out of the product, so that no part
  // of the shape overflows.
  int64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    dimensions.push_back(reader.number<uint32_t>("a dimension"));
    check(!__builtin_mul_overflow(elements, std::max<int64_t>(dimensions.back(), 1), &elements) &&
              elements <= UINT32_MAX,
          "{} has a shape of more than 2^32-1 elements", place);
  }
  return Shape(std::span<const int64_t>(dimensions));
}

RawTensor read_tensor(Reader& reader, const std::string& file) {
  RawTensor tensor;
  tensor.name = reader.string("a tensor's name");
  const std::string place = fmt::format("[ctranslate2] {}: tensor '{}'", file, tensor.name);
  tensor.shape = read_shape(reader, place);
  tensor.item_size = reader.number<uint8_t>("an item size");
  check(tensor.item_size == 1 || tensor.item_size == 2 || tensor.item_size == 4,
        "{} has items of {} bytes, expected 1, 2 or 4", place, tensor.item_size);
  const auto count = reader.number<uint32_t>("a number of items");
  check(count == tensor.shape.size(), "{} has {} items, expected {} for {}", place, count,
        tensor.shape.size(), tensor.shape);
  tensor.items =
      reader.take(uint64_t{count} * tensor.item_size, fmt::format("tensor '{}'", tensor.name));
  return tensor;
}

template <typename Item>
float item_at(const RawTensor& tensor, size_t index) {
  Item item;
  std::memcpy(&item, tensor.items.data() + index * sizeof(Item), sizeof(Item));
  return static_cast<float>(item);
}

// One divisor per leading row of `tensor`.
std::vector<float> read_scales(const RawTensor& tensor, const RawTensor* scale,
                               const std::string& file) {
  check(scale != nullptr, "[ctranslate2] {}: tensor '{}' holds integers, but has no '{}_scale'",
        file, tensor.name, tensor.name);
  check(scale->item_size == sizeof(float),
        "[ctranslate2] {}: tensor '{}' holds integers, expected f32", file, scale->name);
  const size_t rows = tensor.shape.rank() == 0 ? 1 : static_cast<size_t>(tensor.shape[0]);
  const auto count = static_cast<size_t>(scale->shape.size());
  check(count == 1 || (scale->shape.rank() == 1 && count == rows),
        "[ctranslate2] {}: tensor '{}' is {}, expected one number or {} for '{}'", file,
        scale->name, scale->shape, rows, tensor.name);
  std::vector<float> scales(rows);
  for (size_t row = 0; row < rows; ++row) {
    scales[row] = item_at<float>(*scale, count == 1 ? 0 : row);
    check(std::isfinite(scales[row]) && scales[row] > 0,
          "[ctranslate2] {}: tensor '{}' has the value {}, expected a positive number", file,
          scale->name, scales[row]);
  }
  return scales;
}

template <typename Integer>
Tensor dequantise(const RawTensor& tensor, const std::vector<float>& scales) {
  Tensor result = Tensor::empty(tensor.shape);
  const auto size = static_cast<size_t>(result.size());
  for (size_t i = 0; i < size; ++i) {
    result.data<float>()[i] = item_at<Integer>(tensor, i) / scales[i / (size / scales.size())];
  }
  return result;
}

Tensor as_f32(const RawTensor& tensor, const RawTensor* scale, const std::string& file) {
  if (tensor.item_size == sizeof(float)) {
    Tensor result = Tensor::empty(tensor.shape);
    std::copy(tensor.items.begin(), tensor.items.end(), static_cast<std::byte*>(result.raw()));
    return result;
  }
  const std::vector<float> scales = read_scales(tensor, scale, file);
  return tensor.item_size == sizeof(int16_t) ? dequantise<int16_t>(tensor, scales)
                                             : dequantise<int8_t>(tensor, scales);
}

}  // namespace

const Tensor* Ctranslate2Model::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const auto& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &found->value;
}

Ctranslate2Model parse_ctranslate2(std::span<const std::byte> bytes, const std::string& file) {
  Reader reader(bytes, file);
  const auto version = reader.number<uint32_t>("the version");
  check(version == kVersion, "[ctranslate2] {} has version {}, expected {}", file, version,
        kVersion);
  Ctranslate2Model model;
  model.spec = reader.string("the spec");
  model.revision = reader.number<uint32_t>("the revision");
  const auto count = reader.number<uint32_t>("the number of tensors");
  std::vector<RawTensor> raw;
  std::map<std::string, size_t, std::less<>> by_name;
  for (uint32_t i = 0; i < count; ++i) {
    raw.push_back(read_tensor(reader, file));
    check(by_name.emplace(raw.back().name, i).second, "[ctranslate2] {} has tensor '{}' twice",
          file, raw.back().name);
  }
  check(reader.left() == 0, "[ctranslate2] {} has {} bytes after its last tensor", file,
        reader.left());

  std::set<const RawTensor*> scales;
  const auto scale_of = [&](const RawTensor& tensor) -> const RawTensor* {
    const auto found = by_name.find(tensor.name + "_scale");
    return tensor.item_size == sizeof(float) || found == by_name.end() ? nullptr
                                                                       : &raw[found->second];
  };
  for (const RawTensor& tensor : raw) {
    scales.insert(scale_of(tensor));
  }
  for (const RawTensor& tensor : raw) {
    if (!scales.contains(&tensor)) {
      model.tensors.push_back({tensor.name, as_f32(tensor, scale_of(tensor), file)});
    }
  }
  return model;
}

Ctranslate2Model read_ctranslate2(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_ctranslate2(file.bytes(), path.string());
}

}  // namespace heed
