// CTranslate2's model.bin: a trained model against the same weights as safetensors, its quantised
// forms within one step of them, and every way of breaking the format.
#include "formats/ctranslate2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "formats/safetensors.h"
#include "tests/formats/format_bytes.h"
#include "tests/support/error_of.h"

namespace heed {
namespace {

using testing::bytes_of;
using testing::error_of;
using testing::raw;
using namespace std::string_literals;

std::string text(const std::string& value) {
  return raw<uint16_t>(static_cast<uint16_t>(value.size() + 1)) + value + '\0';
}

std::string file_of(const std::vector<std::string>& tensors) {
  std::string file = raw<uint32_t>(2) + text("TransformerBase") + raw<uint32_t>(7) +
                     raw(static_cast<uint32_t>(tensors.size()));
  for (const std::string& tensor : tensors) {
    file += tensor;
  }
  return file;
}

std::string tensor_of(const std::string& name, const std::vector<uint32_t>& shape,
                      uint8_t item_size, const std::string& items) {
  std::string result = text(name) + static_cast<char>(shape.size());
  for (const uint32_t dimension : shape) {
    result += raw(dimension);
  }
  return result + static_cast<char>(item_size) +
         raw(static_cast<uint32_t>(item_size == 0 ? 0 : items.size() / item_size)) + items;
}

std::string error_of_file(const std::string& file) {
  return error_of([&] { parse_ctranslate2(bytes_of(file), "model.bin"); });
}

TEST(Ctranslate2, ReadsFloatsAndIntegers) {
  const std::string file = file_of({
      tensor_of("f", {2}, 4, raw(1.5F) + raw(-2.0F)),
      tensor_of("short", {1, 2}, 2, raw<int16_t>(-500) + raw<int16_t>(32767)),
      tensor_of("short_scale", {}, 4, raw(1000.0F)),
      tensor_of("byte", {2, 2}, 1, "\x7F\x80\x02\x00"s),
      tensor_of("byte_scale", {2}, 4, raw(127.0F) + raw(4.0F)),
      tensor_of("f_scale", {1}, 4, raw(9.0F)),
      tensor_of("none", {0, 3}, 1, ""),
      tensor_of("none_scale", {0}, 4, ""),
  });
  const Ctranslate2Model model = parse_ctranslate2(bytes_of(file), "model.bin");
  EXPECT_EQ(model.spec, "TransformerBase");
  EXPECT_EQ(model.revision, 7U);
  std::vector<std::string> names;
  for (const Ctranslate2Tensor& tensor : model.tensors) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.value.dtype(), DType::f32);
  }
  // The scale of a float tensor is a tensor like others.
  EXPECT_EQ(names, (std::vector<std::string>{"f", "short", "byte", "f_scale", "none"}));
  EXPECT_EQ(model.find("f")->to_vector(), (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(model.find("short")->to_vector(), (std::vector<float>{-0.5F, 32.767F}));
  EXPECT_EQ(model.find("byte")->shape(), Shape({2, 2}));
  EXPECT_EQ(model.find("byte")->to_vector(), (std::vector<float>{1, -128.0F / 127.0F, 0.5F, 0}));
  EXPECT_EQ(model.find("none")->shape(), Shape({0, 3}));
  EXPECT_EQ(model.find("byte_scale"), nullptr);
}

// Fails unless every tensor of the safetensors file is there, and each value within
// `step(largest value of its row)` of it.
template <typename Step>
void expect_same_weights(const std::string& version, const Step& step) {
  const auto folder = testing::data_path("ct2-aren-transliteration");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "skipped: no data at " << folder;
  }
  const SafetensorsFile expected(folder / "model.safetensors");
  const Ctranslate2Model model = read_ctranslate2(folder / version / "model.bin");
  EXPECT_EQ(model.spec, expected.metadata().at("spec"));
  EXPECT_EQ(std::to_string(model.revision), expected.metadata().at("spec_revision"));
  ASSERT_EQ(model.tensors.size(), 200U);
  ASSERT_EQ(expected.entries().size(), 200U);
  for (const TensorEntry& entry : expected.entries()) {
    const Tensor* found = model.find(entry.name);
    ASSERT_NE(found, nullptr) << entry.name;
    const Tensor wanted = expected.load(entry);
    ASSERT_EQ(found->shape(), wanted.shape()) << entry.name;
    const int64_t rows = wanted.dim(0);
    const int64_t columns = wanted.size() / rows;
    for (int64_t row = 0; row < rows; ++row) {
      const float* want = wanted.data<float>() + row * columns;
      const float* got = found->data<float>() + row * columns;
      float largest = 0;
      float worst = 0;
      for (int64_t i = 0; i < columns; ++i) {
        largest = std::max(largest, std::abs(want[i]));
        worst = std::max(worst, std::abs(want[i] - got[i]));
      }
      ASSERT_LE(worst, wanted.rank() == 2 ? step(largest) : 0.0F) << entry.name << " row " << row;
    }
  }
}

TEST(Ctranslate2, TrainedFloatsAreExact) {
  expect_same_weights("v2-original", [](float) { return 0.0F; });
}

// The converter cut fractions off instead of rounding, so errors reach a whole step. Beyond it
// there is only the rounding of f32.
TEST(Ctranslate2, TrainedShortsAreWithinAStep) {
  expect_same_weights("v2-original-i16", [](float) { return 1.00001F / 1000; });
}

TEST(Ctranslate2, TrainedBytesAreWithinAStep) {
  expect_same_weights("v2-original-i8", [](float largest) { return 1.00001F * largest / 127; });
}

TEST(Ctranslate2Hostile, Header) {
  const std::string place = "[ctranslate2] model.bin";
  EXPECT_EQ(error_of_file(file_of({})), "no error");
  EXPECT_EQ(error_of_file(""), place + ": the version needs 4 bytes at byte 0, but 0 are left");
  EXPECT_EQ(error_of_file(raw<uint32_t>(6)), place + " has version 6, expected 2");
  EXPECT_EQ(error_of_file(raw<uint32_t>(2) + raw<uint16_t>(9) + "abc"),
            place + ": the spec needs 9 bytes at byte 6, but 3 are left");
  for (const std::string& spec : {"\0\0"s, "\3\0abc"s, "\3\0a\0\0"s}) {
    EXPECT_EQ(error_of_file(raw<uint32_t>(2) + spec),
              fmt::format("{}: the spec before byte {} does not end with its only NUL", place,
                          4 + spec.size()));
  }
  EXPECT_EQ(error_of_file(file_of({}) + "12"), place + " has 2 bytes after its last tensor");
  EXPECT_EQ(error_of_file(raw<uint32_t>(2) + text("") + raw<uint32_t>(1) + raw(UINT32_MAX)),
            place + ": a tensor's name needs 2 bytes at byte 15, but 0 are left");
}

TEST(Ctranslate2Hostile, Tensors) {
  const std::string place = "[ctranslate2] model.bin: tensor 'w' ";
  const auto error = [](const std::string& tensor) { return error_of_file(file_of({tensor})); };
  EXPECT_EQ(error(tensor_of("w", {1, 1, 1, 1, 1, 1, 1}, 4, raw(1.0F))),
            place + "has 7 dimensions, at most 6 allowed");
  const std::string large = place + "has a shape of more than 2^32-1 elements";
  EXPECT_EQ(error(tensor_of("w", {65536, 65536}, 4, "")), large);
  EXPECT_EQ(error(tensor_of("w", {0, UINT32_MAX, UINT32_MAX, UINT32_MAX}, 4, "")), large);
  EXPECT_EQ(error(tensor_of("w", {1}, 8, raw(1.0))),
            place + "has items of 8 bytes, expected 1, 2 or 4");
  EXPECT_EQ(error(tensor_of("w", {1}, 0, "")), place + "has items of 0 bytes, expected 1, 2 or 4");
  EXPECT_EQ(error(tensor_of("w", {2, 3}, 4, raw(1.0F))),
            place + "has 1 items, expected 6 for [2,3]");
  EXPECT_EQ(error(text("w") + "\1" + raw(UINT32_MAX) + "\4" + raw(UINT32_MAX)),
            "[ctranslate2] model.bin: tensor 'w' needs 17179869180 bytes at byte 44, but 0 are "
            "left");
  const std::string one = tensor_of("w", {}, 4, raw(1.0F));
  EXPECT_EQ(error_of_file(file_of({one, one})), "[ctranslate2] model.bin has tensor 'w' twice");
}

TEST(Ctranslate2Hostile, Scales) {
  const std::string place = "[ctranslate2] model.bin: tensor ";
  const std::string weight = tensor_of("w", {3, 1}, 1, "abc");
  const auto error = [&](const std::vector<uint32_t>& shape, uint8_t size,
                         const std::string& items) {
    return error_of_file(file_of({weight, tensor_of("w_scale", shape, size, items)}));
  };
  EXPECT_EQ(error({3}, 4, raw(1.0F) + raw(1.0F) + raw(1.0F)), "no error");
  EXPECT_EQ(error_of_file(file_of({weight})), place + "'w' holds integers, but has no 'w_scale'");
  EXPECT_EQ(error({3}, 2, "ababab"), place + "'w_scale' holds integers, expected f32");
  EXPECT_EQ(error({2}, 4, raw(1.0F) + raw(1.0F)),
            place + "'w_scale' is [2], expected one number or 3 for 'w'");
  EXPECT_EQ(error({0}, 4, ""), place + "'w_scale' is [0], expected one number or 3 for 'w'");
  EXPECT_EQ(error({3, 1}, 4, raw(1.0F) + raw(1.0F) + raw(1.0F)),
            place + "'w_scale' is [3,1], expected one number or 3 for 'w'");
  for (const float bad : {0.0F, -1.0F, INFINITY}) {
    EXPECT_EQ(error({}, 4, raw(bad)),
              fmt::format("{}'w_scale' has the value {}, expected a positive number", place, bad));
  }
  EXPECT_EQ(error({}, 4, raw(0x7FC00000U)),
            place + "'w_scale' has the value nan, expected a positive number");
}

std::string small_file() {
  return file_of({tensor_of("a/bias", {2}, 4, raw(1.0F) + raw(2.0F)),
                  tensor_of("a/weight", {2, 3}, 1, "abcdef"),
                  tensor_of("a/weight_scale", {2}, 4, raw(3.0F) + raw(4.0F)),
                  tensor_of("b", {1, 1}, 2, "gh"), tensor_of("b_scale", {}, 4, raw(5.0F))});
}

TEST(Ctranslate2Hostile, Truncation) {
  ASSERT_EQ(error_of_file(small_file()), "no error");
  testing::expect_truncation_errors(
      small_file(), [](std::string_view part) { parse_ctranslate2(bytes_of(part), "model.bin"); });
}

TEST(Ctranslate2Hostile, RandomDamage) {
  constexpr int kCopies = 5000;
  const int errors = testing::count_errors_of_damage(
      small_file(), kCopies,
      [](std::string_view damaged) { parse_ctranslate2(bytes_of(damaged), "model.bin"); });
  EXPECT_GT(errors, kCopies / 4);
  EXPECT_LT(errors, kCopies);
}

}  // namespace
}  // namespace heed
