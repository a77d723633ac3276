// Safetensors files: what is written comes back, in the documented layout; every way of breaking
// the format is an error that names the file and the tensor.
#include "formats/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/half.h"
#include "tests/formats/format_bytes.h"
#include "tests/support/error_of.h"

namespace heed {
namespace {

using testing::bytes_of;
using testing::error_of;
using testing::raw;
using namespace std::string_literals;

std::string file_of(const std::string& header, const std::string& data = "") {
  return raw<uint64_t>(header.size()) + header + data;
}

std::string error_of_file(const std::string& file) {
  return error_of([&] { parse_safetensors(bytes_of(file), "x.safetensors"); });
}

std::string error_of_header(const std::string& header, size_t data_size = 0) {
  return error_of_file(file_of(header, std::string(data_size, '\0')));
}

std::string describe(const std::string& name, const std::string& dtype, const std::string& shape,
                     const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

class SafetensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) /
            fmt::format("heed_{}.safetensors", test->name());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  SafetensorsFile& write(const std::string& bytes) {
    write_file(path_, bytes);
    return *(file_ = std::make_unique<SafetensorsFile>(path_));
  }

  std::filesystem::path path_;
  std::unique_ptr<SafetensorsFile> file_;
};

TEST_F(SafetensorsTest, RoundTrip) {
  const Tensor floats = Tensor::from(std::vector<float>{1, -2.5F, 3e-39F, INFINITY, 5, 6}, {2, 3});
  const Tensor halves = Tensor::from(std::vector<float>{0.5F, -1}, {2, 1, 1}, DType::bf16);
  const Tensor ints = Tensor::from_ints(std::vector<int32_t>{INT32_MIN, -1, INT32_MAX}, {3});
  const Tensor bytes = Tensor::from_bytes(std::vector<int8_t>{-128}, {});
  const Tensor nothing = Tensor::empty({4, 0, 2});
  const std::vector<NamedTensor> tensors = {
      named_tensor("z/floats", floats), named_tensor("halves \"ä\n", halves),
      named_tensor("bytes", bytes), named_tensor("a", ints), named_tensor("nothing", nothing)};
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"it's", "\\ 雨 \t"}};
  write_safetensors(path_, tensors, metadata);

  const SafetensorsFile file(path_);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.entries().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorEntry& entry = file.entries()[i];
    EXPECT_EQ(entry.name, tensors[i].name);
    const Tensor loaded = file.load(entry);
    EXPECT_EQ(loaded.dtype(), tensors[i].dtype);
    EXPECT_EQ(loaded.shape(), tensors[i].shape);
    EXPECT_EQ(std::memcmp(loaded.raw(), tensors[i].data, loaded.bytes()), 0);
    EXPECT_EQ(file.find(entry.name), &entry);
  }
  EXPECT_EQ(file.find("b"), nullptr);
  EXPECT_EQ(error_of([&] { file.at("b"); }),
            fmt::format("[safetensors] {} has no tensor 'b'", path_.string()));
}

TEST_F(SafetensorsTest, WritesTheDocumentedLayout) {
  const std::vector<float> values = {1, 2};
  const std::vector<int32_t> more = {7};
  const std::vector<NamedTensor> tensors = {{"b", DType::f32, {1, 2}, values.data()},
                                            {"a", DType::i32, {}, more.data()}};
  write_safetensors(path_, tensors, {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},)"
                             R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                             R"("a":{"dtype":"I32","shape":[],"data_offsets":[8,12]}})";
  const std::string bytes = read_file(path_);
  const size_t start = bytes.size() - 12;
  EXPECT_EQ(start % 64, 0U);
  EXPECT_EQ(bytes.substr(0, 8), raw<uint64_t>(start - 8));
  EXPECT_EQ(bytes.substr(8, start - 8), header + std::string(start - 8 - header.size(), ' '));
  EXPECT_EQ(bytes.substr(start), raw(1.0F) + raw(2.0F) + raw<int32_t>(7));
  write_safetensors(path_, tensors, {{"k", "v"}});
  EXPECT_EQ(read_file(path_), bytes);
}

TEST_F(SafetensorsTest, WriterErrors) {
  const float one = 1;
  const auto write = [&](const std::string& first, const std::string& second) {
    const std::vector<NamedTensor> tensors = {{first, DType::f32, {1}, &one},
                                              {second, DType::f32, {}, &one}};
    return error_of([&] { write_safetensors(path_, tensors); });
  };
  const std::string place = fmt::format("[safetensors] {}: ", path_.string());
  EXPECT_EQ(write("w", "w"), place + "the name 'w' is given twice");
  EXPECT_EQ(write("w", "__metadata__"), place + "the name '__metadata__' is reserved");
  EXPECT_EQ(write("w", "\xFF"), place + "the name or text '\xFF' is not UTF-8");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SafetensorsTest, EmptyFileOfNoTensors) {
  write_safetensors(path_, {});
  EXPECT_EQ(read_file(path_), raw<uint64_t>(56) + "{}" + std::string(54, ' '));
  EXPECT_TRUE(SafetensorsFile(path_).entries().empty());
}

TEST_F(SafetensorsTest, ConvertsFloats) {
  // -2, the largest half, the smallest half; 0.1 in double; all at odd addresses behind a byte.
  const SafetensorsFile& file = write(file_of(
      "{" + describe("odd", "BOOL", "[1]", "[0,1]") + "," + describe("h", "F16", "[3]", "[1,7]") +
          "," + describe("d", "F64", "[1]", "[7,15]") + "," +
          describe("b", "BF16", "[1]", "[15,17]") + "," + describe("f", "F32", "[1]", "[17,21]") +
          "}",
      "\1" + raw<uint16_t>(0xC000) + raw<uint16_t>(0x7BFF) + raw<uint16_t>(1) + raw(0.1) +
          raw<uint16_t>(0x3FC0) + raw(1.00390625F)));
  EXPECT_EQ(file.load(file.at("h")).to_vector(), (std::vector<float>{-2, 65504, 0x1p-24F}));
  EXPECT_EQ(file.load(file.at("d")).to_vector(), std::vector<float>{0.1F});
  EXPECT_EQ(file.load(file.at("b")).dtype(), DType::bf16);
  EXPECT_EQ(file.load(file.at("odd")).dtype(), DType::i32);

  std::vector<float> value(1);
  file.copy(file.at("b"), std::span<float>(value));
  EXPECT_EQ(value[0], 1.5F);
  std::vector<bf16> rounded(1);
  file.copy(file.at("f"), std::span<bf16>(rounded));  // halfway: ties to even
  EXPECT_EQ(static_cast<float>(rounded[0]), 1.0F);
  file.copy(file.at("b"), std::span<bf16>(rounded));
  EXPECT_EQ(rounded[0].bits, 0x3FC0);

  const std::string place = fmt::format("[safetensors] {}: tensor ", path_.string());
  EXPECT_EQ(error_of([&] { file.copy(file.at("odd"), std::span<float>(value)); }),
            place + "'odd' is BOOL, expected F32, BF16, F16 or F64");
  EXPECT_EQ(error_of([&] { file.copy(file.at("h"), std::span<float>(value)); }),
            place + "'h' is [3], expected 1 elements");
}

TEST_F(SafetensorsTest, ConvertsIntegers) {
  const SafetensorsFile& file = write(file_of(
      "{" + describe("i64", "I64", "[2]", "[0,16]") + "," + describe("u8", "U8", "[2]", "[16,18]") +
          "," + describe("i16", "I16", "[1]", "[18,20]") + "," +
          describe("u32", "U32", "[1]", "[20,24]") + "," + describe("f", "F32", "[1]", "[24,28]") +
          "," + describe("i8", "I8", "[1]", "[28,29]") + "," +
          describe("f8", "F8_E4M3", "[1]", "[29,30]") + "}",
      raw<int64_t>(INT32_MIN) + raw<int64_t>(12) + "\xFF\x01" + raw<int16_t>(-3) +
          raw<uint32_t>(0x80000000U) + raw(1.0F) + "\x80" + "\0"s));
  EXPECT_EQ(file.load(file.at("i64")).to_vector(), (std::vector<float>{-0x1p31F, 12}));
  EXPECT_EQ(file.load(file.at("u8")).to_vector(), (std::vector<float>{255, 1}));
  EXPECT_EQ(file.load(file.at("i16")).to_vector(), std::vector<float>{-3});
  EXPECT_EQ(file.load(file.at("i8")).data<int8_t>()[0], -128);
  std::vector<int32_t> value(1);
  file.copy(file.at("i8"), std::span<int32_t>(value));
  EXPECT_EQ(value[0], -128);

  const std::string place = fmt::format("[safetensors] {}: tensor ", path_.string());
  EXPECT_EQ(error_of([&] { file.load(file.at("u32")); }),
            place + "'u32' holds 2147483648, too large for i32");
  EXPECT_EQ(error_of([&] { file.copy(file.at("f"), std::span<int32_t>(value)); }),
            place + "'f' is F32, expected integers");
  EXPECT_EQ(error_of([&] { file.load(file.at("f8")); }),
            place + "'f8' is F8_E4M3, expected F32, BF16, F16 or F64");
}

TEST(Half, AllValues) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31U);
    const auto fraction = static_cast<double>(bits & 1023U);
    const double sign = bits >= 0x8000 ? -1 : 1;
    const double expected = exponent == 31 ? (fraction == 0 ? sign * INFINITY : NAN)
                            : exponent > 0 ? sign * std::ldexp(1024 + fraction, exponent - 25)
                                           : sign * std::ldexp(fraction, -24);
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      EXPECT_EQ(value, static_cast<float>(expected)) << bits;
      EXPECT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    }
  }
}

TEST_F(SafetensorsTest, TooManyDimensionsToLoad) {
  const SafetensorsFile& file =
      write(file_of("{" + describe("w", "U8", "[1,1,1,1,1,1,1]", "[0,1]") + "}", "\0"s));
  EXPECT_EQ(error_of([&] { file.load(file.entries()[0]); }),
            fmt::format("[safetensors] {}: tensor 'w' has 7 dimensions, at most 6 allowed",
                        path_.string()));
}

TEST(SafetensorsHostile, Header) {
  const std::string place = "[safetensors] x.safetensors";
  EXPECT_EQ(error_of_file("1234567"),
            place + " has 7 bytes, expected at least the 8 of the header's length");
  EXPECT_EQ(error_of_file(raw<uint64_t>(3) + "{}"),
            place + ": the header has 3 bytes, but only 2 follow in the file");
  EXPECT_EQ(error_of_file(raw<uint64_t>(100'000'001) + "{}"),
            place + ": the header has 100000001 bytes, at most 100000000 allowed");
  EXPECT_EQ(error_of_file(raw<uint64_t>(UINT64_MAX) + "{}"),
            place + ": the header has 18446744073709551615 bytes, at most 100000000 allowed");
  for (const std::string header : {"", "[]", " {}", "3", "null", "\xEF\xBB\xBF{}"}) {
    EXPECT_EQ(error_of_header(header), place + ": the header does not begin with '{'");
  }
  EXPECT_EQ(error_of_header("{}\0 rubbish"s), place + ": the header has a NUL byte");
  for (const std::string header : {"{", "{} {}", "{a:1}", "{\"\xFF\":1}", "{\"a\":1,}", "{}//"}) {
    EXPECT_EQ(error_of_header(header).rfind(place + ": the header is not JSON: ", 0), 0U) << header;
  }
  EXPECT_EQ(error_of_header(R"({"a":{"shape":[[]]}})"),
            place + ": the header is nested deeper than the format allows");
  EXPECT_EQ(error_of_header(R"({"a":{"shape":{}}})"),
            place + ": the header is nested deeper than the format allows");
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string deep = "{\"a\":";
    for (int i = 0; i < 1'000'000; ++i) {
      deep += open;
    }
    EXPECT_EQ(error_of_header(deep),
              place + ": the header is nested deeper than the format allows");
  }
}

TEST(SafetensorsHostile, Metadata) {
  const std::string place = "[safetensors] x.safetensors: __metadata__ ";
  EXPECT_EQ(error_of_header(R"({"__metadata__":[]})"),
            place + "is of type array, expected an object");
  EXPECT_EQ(error_of_header(R"({"__metadata__":{"k":1}})"),
            place + "has 'k' of type number, expected a string");
}

TEST(SafetensorsHostile, Names) {
  const std::string one = describe("w", "U8", "[1]", "[0,1]");
  EXPECT_EQ(error_of_header("{" + one + "," + describe("w", "U8", "[1]", "[1,2]") + "}", 2),
            "[safetensors] x.safetensors: the header has 'w' twice");
  EXPECT_EQ(
      error_of_header(R"({"w":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1),
      "[safetensors] x.safetensors: the header has 'shape' twice");
  // The same keys in two tensors are no duplicates.
  EXPECT_EQ(error_of_header("{" + one + "," + describe("v", "U8", "[1]", "[1,2]") + "}", 2),
            "no error");
}

TEST(SafetensorsHostile, Descriptions) {
  const auto error = [](const std::string& description) {
    const std::string text = error_of_header("{\"w\":" + description + "}", 4);
    const std::string place = "[safetensors] x.safetensors: tensor 'w' ";
    EXPECT_EQ(text.rfind(place, 0), 0U) << text;
    return text.substr(std::min(place.size(), text.size()));
  };
  EXPECT_EQ(error("3"), "is described by number, expected an object");
  EXPECT_EQ(error("[1]"), "is described by array, expected an object");
  EXPECT_EQ(error(R"({"shape":[1],"data_offsets":[0,4]})"), "has no dtype");
  EXPECT_EQ(error(R"({"dtype":"F32","data_offsets":[0,4]})"), "has no shape");
  EXPECT_EQ(error(R"({"dtype":"F32","shape":[1]})"), "has no data_offsets");
  EXPECT_EQ(error(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})"),
            "has an unknown key 'x', expected dtype, shape and data_offsets");
  EXPECT_EQ(error(R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})"),
            "has a dtype of type number, expected a string");
  EXPECT_EQ(error(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})"),
            "has the unknown dtype 'F33'");
  EXPECT_EQ(error(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})"),
            "has a shape of type number, expected a list");
}

TEST(SafetensorsHostile, ShapesAndOffsets) {
  const auto error = [](const std::string& shape, const std::string& offsets) {
    const std::string header = "{" + describe("w", "F32", shape, offsets) + "}";
    const std::string text = error_of_header(header, 4);
    const std::string place = "[safetensors] x.safetensors: tensor 'w' ";
    EXPECT_EQ(text.rfind(place, 0), 0U) << text;
    return text.substr(std::min(place.size(), text.size()));
  };
  const std::string whole = ", expected a whole number from 0 to 2^63-1";
  EXPECT_EQ(error("[-1]", "[0,4]"), "has the dimension -1" + whole);
  EXPECT_EQ(error("[1.0]", "[0,4]"), "has the dimension 1.0" + whole);
  EXPECT_EQ(error("[true]", "[0,4]"), "has the dimension true" + whole);
  EXPECT_EQ(error("[\"1\"]", "[0,4]"), "has the dimension string" + whole);
  EXPECT_EQ(error("[9223372036854775808]", "[0,4]"),
            "has the dimension 9223372036854775808" + whole);
  EXPECT_EQ(error("[36893488147419103232]", "[0,4]"),
            "has the dimension 3.6893488147419103e+19" + whole);
  const std::string large = "has a shape of more than 2^56 bytes";
  EXPECT_EQ(error("[4294967296,4294967296]", "[0,4]"), large);
  EXPECT_EQ(error("[4611686018427387905]", "[0,4]"), large);  // 4 times it is 4 modulo 2^64
  EXPECT_EQ(error("[0,4294967296,4294967296]", "[0,0]"), large);

  EXPECT_EQ(error("[1]", "4"), "has data_offsets that are not a list of two numbers");
  EXPECT_EQ(error("[1]", "[4]"), "has data_offsets that are not a list of two numbers");
  EXPECT_EQ(error("[1]", "[0,4,8]"), "has data_offsets that are not a list of two numbers");
  EXPECT_EQ(error("[1]", "[-4,0]"), "has the data offset -4" + whole);
  EXPECT_EQ(error("[1]", "[4,0]"), "has data_offsets [4,0], which end before they begin");
  EXPECT_EQ(error("[1]", "[1,5]"), "has data_offsets [1,5], but the file has 4 bytes of data");
  EXPECT_EQ(error("[1]", "[9223372036854775804,9223372036854775807]"),
            "has data_offsets [9223372036854775804,9223372036854775807], but the file has 4 bytes "
            "of data");
  EXPECT_EQ(error("[1]", "[0,3]"), "has 3 bytes at data_offsets [0,3], expected 4 for F32 [1]");
  EXPECT_EQ(error("[]", "[0,0]"), "has 0 bytes at data_offsets [0,0], expected 4 for F32 []");
  EXPECT_EQ(error("[2,0]", "[0,4]"), "has 4 bytes at data_offsets [0,4], expected 0 for F32 [2,0]");
}

TEST(SafetensorsHostile, Coverage) {
  const auto error = [](const std::string& first, const std::string& second, size_t data) {
    return error_of_header(
        "{" + describe("a", "U8", "[2]", first) + "," + describe("b", "U8", "[2]", second) + "}",
        data);
  };
  const std::string place = "[safetensors] x.safetensors: ";
  EXPECT_EQ(error("[0,2]", "[2,4]", 4), "no error");
  EXPECT_EQ(error("[2,4]", "[0,2]", 4), "no error");
  EXPECT_EQ(error("[0,2]", "[1,3]", 3), place + "tensor 'b' overlaps the one before it by 1 bytes");
  EXPECT_EQ(error("[0,2]", "[0,2]", 2), place + "tensor 'b' overlaps the one before it by 2 bytes");
  EXPECT_EQ(error("[0,2]", "[5,7]", 7), place + "3 bytes before tensor 'b' belong to no tensor");
  EXPECT_EQ(error("[3,5]", "[1,3]", 5), place + "1 bytes before tensor 'b' belong to no tensor");
  EXPECT_EQ(error("[0,2]", "[2,4]", 9), place + "5 bytes at the end belong to no tensor");
  EXPECT_EQ(error_of_header("{}", 1), place + "1 bytes at the end belong to no tensor");
}

std::string small_file() {
  return file_of("{\"__metadata__\":{\"format\":\"pt\"}," +
                     describe("layer/weight", "F32", "[2,3]", "[0,24]") + "," +
                     describe("layer/bias", "BF16", "[3]", "[24,30]") + "," +
                     describe("none", "I64", "[0]", "[30,30]") + "}  ",
                 std::string(30, '\x3F'));
}

TEST(SafetensorsHostile, Truncation) {
  ASSERT_EQ(error_of_file(small_file()), "no error");
  testing::expect_truncation_errors(small_file(), [](std::string_view part) {
    parse_safetensors(bytes_of(part), "x.safetensors");
  });
}

TEST(SafetensorsHostile, RandomDamage) {
  constexpr int kCopies = 5000;
  const int errors =
      testing::count_errors_of_damage(small_file(), kCopies, [](std::string_view damaged) {
        for (const TensorEntry& entry : parse_safetensors(bytes_of(damaged), "x").entries) {
          EXPECT_TRUE(entry.bytes.empty() || entry.bytes.data() + entry.bytes.size() <=
                                                 bytes_of(damaged).data() + damaged.size());
        }
      });
  // Most of the file is structure, which cannot change unnoticed; names and data can.
  EXPECT_GT(errors, kCopies / 2);
  EXPECT_LT(errors, kCopies);
}

TEST_F(SafetensorsTest, FileErrors) {
  EXPECT_EQ(error_of([&] { SafetensorsFile file(path_); }),
            fmt::format("[file] cannot open {}: No such file or directory", path_.string()));
  write_file(path_, "");
  EXPECT_EQ(error_of([&] { SafetensorsFile file(path_); }),
            fmt::format("[safetensors] {} has 0 bytes, expected at least the 8 of the header's "
                        "length",
                        path_.string()));
}

}  // namespace
}  // namespace heed
