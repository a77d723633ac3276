// Folders with smaller weights: converted, loaded, and close to what they were made from.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "formats/safetensors.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<int32_t> kIds{5, 9, 4, 17, 8, 6, 22, 7};

std::vector<float> gpt_logits(const Loaded<LanguageModel>& loaded) {
  return loaded.model->logits(Tensor::from_ints(kIds, {1, std::ssize(kIds)}))
      .to(DType::f32)
      .to_vector();
}

// Of the differences, relative to the values.
double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double error = 0.0;
  double size = 0.0;
  for (size_t i = 0; i < found.size(); ++i) {
    error += std::pow(static_cast<double>(found[i]) - static_cast<double>(expected[i]), 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(error / size);
}

// Wide enough that blocks of 64 do not stop at the matrices' edges.
Json wide_gpt() { return tiny_gpt({{"width", 128}, {"initializer_range", 0.05}}); }

TEST(Int8Folder, IsAQuarterOfTheSizeAndSaysNearlyTheSame) {
  const TinyFolder folder(wide_gpt());
  const fs::path small = folder.folder / "small";
  convert_folder(folder.path(), small, DType::i8);
  EXPECT_LT(fs::file_size(small / "model.safetensors"), 0.3 * fs::file_size(folder.file()));
  const std::vector<float> expected = gpt_logits(*folder.load());
  const auto loaded = load_as<LanguageModel>(small, {});
  EXPECT_EQ(loaded->store.find("tokens.weight").compute.dtype(), DType::i8);
  const double error = relative_error(gpt_logits(*loaded), expected);
  EXPECT_GT(error, 0.0);
  EXPECT_LT(error, 0.03);
  // The weights alone, with f32 products.
  EXPECT_LT(relative_error(gpt_logits(*load_as<LanguageModel>(small, DType::f32)), expected), 0.02);
}

TEST(Int8Folder, ConvertedBeforeOrWhileLoadingIsTheSame) {
  const TinyFolder folder(wide_gpt());
  const fs::path small = folder.folder / "small";
  convert_folder(folder.path(), small, DType::i8);
  EXPECT_EQ(gpt_logits(*load_as<LanguageModel>(small, {})), gpt_logits(*folder.load(DType::i8)));
  const fs::path again = folder.folder / "again";
  convert_folder(small, again, DType::i8);
  EXPECT_EQ(read_file(again / "model.safetensors"), read_file(small / "model.safetensors"));
}

TEST(Int8Folder, Bf16IsHalfTheSize) {
  const TinyFolder folder(wide_gpt());
  const fs::path small = folder.folder / "small";
  convert_folder(folder.path(), small, DType::bf16);
  EXPECT_LT(fs::file_size(small / "model.safetensors"), 0.52 * fs::file_size(folder.file()));
  EXPECT_EQ(gpt_logits(*load_as<LanguageModel>(small, DType::bf16)),
            gpt_logits(*folder.load(DType::bf16)));
}

TEST(Int8Folder, Encoders) {
  const TinyFolder folder(tiny_bert({{"width", 64}, {"hidden", 96}, {"labels", 3}}));
  const fs::path small = folder.folder / "small";
  convert_folder(folder.path(), small, DType::i8);
  const auto classes = [&](const fs::path& path, std::optional<DType> dtype) {
    const auto loaded = load_as<TextEncoder>(path, dtype);
    const auto length = static_cast<int32_t>(kIds.size());
    return loaded->model
        ->classes({.tokens = Tensor::from_ints(kIds, {1, length}),
                   .types = {},
                   .lengths = Tensor::from_ints(std::vector<int32_t>{length}, {1})})
        .to(DType::f32)
        .to_vector();
  };
  EXPECT_LT(relative_error(classes(small, {}), classes(folder.path(), DType::f32)), 0.08);
}

TEST(Int8Folder, OtherKindsKeepWhatIsNoProduct) {
  for (const char* kind : {"transformer", "rnn", "bahdanau", "conv", "rnn_encoder",
                           "self_attentive", "decomposable_attention"}) {
    SCOPED_TRACE(kind);
    Json fields{{"kind", kind}};
    if (std::string(kind) == "transformer") {
      fields.update({{"width", 64}, {"heads", 2}, {"hidden", 64}, {"positions", "relative"}});
    } else {
      fields.update({{"embedding", 64}, {"hidden", 64}});
    }
    const TinyFolder folder(fields);
    const fs::path small = folder.folder / "small";
    convert_folder(folder.path(), small, DType::i8);
    LoadedFolder loaded;
    load_folder(small, {}, loaded);
    int64_t integers = 0;
    for (const ParameterEntry& entry : loaded.store.entries()) {
      EXPECT_EQ(entry.compute.dtype(), entry.product             ? DType::i8
                                       : entry.shape.rank() >= 2 ? DType::bf16
                                                                 : DType::f32)
          << entry.name;
      integers += entry.product ? 1 : 0;
    }
    EXPECT_GT(integers, 0);
  }
}

TEST(Int8Folder, NamesScalesThatAreMissingOrOfTheWrongShape) {
  const TinyFolder folder(wide_gpt());
  const fs::path small = folder.folder / "small";
  convert_folder(folder.path(), small, DType::i8);
  const SafetensorsFile whole(small / "model.safetensors");
  const auto write_without = [&](const std::string& name, bool cut) {
    std::vector<NamedTensor> tensors;
    std::vector<Tensor> kept;
    for (const TensorEntry& entry : whole.entries()) {
      Tensor tensor = whole.load(entry);
      if (entry.name == name) {
        if (!cut) {
          continue;
        }
        tensor = tensor.rows(0, tensor.dim(0) - 1);
      }
      kept.push_back(tensor);
      tensors.push_back(named_tensor(entry.name, tensor));
    }
    write_safetensors(folder.folder / "broken.safetensors", tensors);
    fs::rename(folder.folder / "broken.safetensors", small / "model.safetensors");
    return error_of([&] { load_as<LanguageModel>(small, {}); });
  };
  const std::string file = (small / "model.safetensors").string();
  const std::string scale = "transformer.wte.weight.scale";
  EXPECT_EQ(write_without(scale, true), "[model folder] " + file + ": tensor " + scale + " is [" +
                                            std::to_string(folder.tokenizer->size() - 1) +
                                            ",2], expected [" +
                                            std::to_string(folder.tokenizer->size()) + ",2]");
  EXPECT_EQ(write_without(scale, false),
            "[model folder] " + file +
                ": tensor transformer.wte.weight is I8 and needs scales, BF16 " + scale);
}

TEST(Int8Folder, RefusesToOverwriteItsInput) {
  const TinyFolder folder;
  EXPECT_EQ(error_of([&] { convert_folder(folder.path(), folder.path(), DType::i8); }),
            "[convert] " + folder.path().string() + " is both input and output");
  EXPECT_TRUE(is_model_folder(folder.path()));
  EXPECT_FALSE(is_model_folder(folder.folder / "none"));
}

}  // namespace
}  // namespace heed::testing
