// GPT-2 and BERT in Hugging Face's folders: their names, shapes and layouts, written out here as
// the transformers library has them, and files that differ in what such files differ in.
#include "models/imports/huggingface.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/file.h"
#include "formats/half.h"
#include "formats/safetensors.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;
using Shapes = std::map<std::string, std::vector<int64_t>>;
using TensorMap = std::map<std::string, Tensor>;

constexpr int64_t kWords = 38;  // of TinyFolder's tokenizer

const Json kAllHeads{{"masked_head", true}, {"next_head", true}, {"labels", 3}};

// A norm, or a product [out,in] of which the weight is given as it lies in the file.
void add_pair(Shapes& shapes, const std::string& name, const std::vector<int64_t>& weight,
              int64_t bias) {
  shapes[name + ".weight"] = weight;
  shapes[name + ".bias"] = {bias};
}

Shapes gpt_shapes() {
  Shapes shapes{{"transformer.wte.weight", {kWords, 32}}, {"transformer.wpe.weight", {24, 32}}};
  for (const std::string layer : {"transformer.h.0.", "transformer.h.1."}) {
    add_pair(shapes, layer + "ln_1", {32}, 32);
    add_pair(shapes, layer + "attn.c_attn", {32, 96}, 96);
    add_pair(shapes, layer + "attn.c_proj", {32, 32}, 32);
    add_pair(shapes, layer + "ln_2", {32}, 32);
    add_pair(shapes, layer + "mlp.c_fc", {32, 128}, 128);
    add_pair(shapes, layer + "mlp.c_proj", {128, 32}, 32);
  }
  add_pair(shapes, "transformer.ln_f", {32}, 32);
  return shapes;
}

Shapes bert_shapes() {
  Shapes shapes{{"bert.embeddings.word_embeddings.weight", {kWords, 16}},
                {"bert.embeddings.position_embeddings.weight", {20, 16}},
                {"bert.embeddings.token_type_embeddings.weight", {2, 16}},
                {"cls.predictions.bias", {kWords}}};
  add_pair(shapes, "bert.embeddings.LayerNorm", {16}, 16);
  for (const std::string layer : {"bert.encoder.layer.0.", "bert.encoder.layer.1."}) {
    add_pair(shapes, layer + "attention.self.query", {16, 16}, 16);
    add_pair(shapes, layer + "attention.self.key", {16, 16}, 16);
    add_pair(shapes, layer + "attention.self.value", {16, 16}, 16);
    add_pair(shapes, layer + "attention.output.dense", {16, 16}, 16);
    add_pair(shapes, layer + "attention.output.LayerNorm", {16}, 16);
    add_pair(shapes, layer + "intermediate.dense", {24, 16}, 24);
    add_pair(shapes, layer + "output.dense", {16, 24}, 16);
    add_pair(shapes, layer + "output.LayerNorm", {16}, 16);
  }
  add_pair(shapes, "bert.pooler.dense", {16, 16}, 16);
  add_pair(shapes, "cls.predictions.transform.dense", {16, 16}, 16);
  add_pair(shapes, "cls.predictions.transform.LayerNorm", {16}, 16);
  add_pair(shapes, "cls.seq_relationship", {2, 16}, 2);
  add_pair(shapes, "classifier", {3, 16}, 3);
  return shapes;
}

Shapes shapes_of(const fs::path& file) {
  Shapes shapes;
  const SafetensorsFile stored(file);
  for (const TensorEntry& entry : stored.entries()) {
    EXPECT_EQ(entry.dtype, "F32");
    shapes[entry.name] = entry.shape;
  }
  return shapes;
}

TensorMap read_tensors(const fs::path& file) {
  TensorMap tensors;
  const SafetensorsFile stored(file);
  for (const TensorEntry& entry : stored.entries()) {
    tensors[entry.name] = stored.load(entry);
  }
  return tensors;
}

void write_tensors(const fs::path& file, const TensorMap& tensors) {
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors) {
    named.push_back(named_tensor(name, tensor));
  }
  write_safetensors(file, named);
}

// All that the model can say about two short texts.
std::vector<float> outputs_of(const Model& model) {
  const std::vector<int32_t> ids{4, 7, 11, 20, 33, 5, 9, 0};
  const Tensor tokens = Tensor::from_ints(ids, {2, 4});
  if (const auto* gpt = dynamic_cast<const LanguageModel*>(&model)) {
    return gpt->logits(tokens).to(DType::f32).to_vector();
  }
  const auto& bert = dynamic_cast<const TextEncoder&>(model);
  const auto& masked = dynamic_cast<const MaskedModel&>(model);
  const TextBatch batch{
      .tokens = tokens,
      .types = Tensor::from_ints(std::vector<int32_t>{0, 0, 1, 1, 0, 1, 1, 0}, {2, 4}),
      .lengths = Tensor::from_ints(std::vector<int32_t>{4, 3}, {2})};
  const Tensor hidden = bert.hidden(batch);
  std::vector<float> all = bert.classes(batch).to(DType::f32).to_vector();
  const std::vector<int32_t> places{1, 6};
  for (const Tensor& more :
       {masked.words(hidden, Tensor::from_ints(places, {2})), masked.follows(hidden, batch)}) {
    const std::vector<float> values = more.to(DType::f32).to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<float> outputs_of(const fs::path& folder, DType dtype = DType::f32) {
  LoadedFolder loaded;
  load_folder(folder, dtype, loaded);
  return outputs_of(*loaded.any);
}

std::string load_error(const TinyFolder& folder) {
  return error_of([&] {
    LoadedFolder loaded;
    load_folder(folder.path(), DType::f32, loaded);
  });
}

// For both models.
class HuggingFaceTest : public ::testing::TestWithParam<const char*> {
 protected:
  HuggingFaceTest() : saved(is_gpt() ? tiny_gpt() : tiny_bert(kAllHeads)) {}
  static bool is_gpt() { return std::string(GetParam()) == "gpt2"; }

  TinyFolder saved;
};

TEST_P(HuggingFaceTest, NamesAndShapesAreTheirs) {
  EXPECT_EQ(shapes_of(saved.file()), is_gpt() ? gpt_shapes() : bert_shapes());
  EXPECT_EQ(SafetensorsFile(saved.file()).metadata().at("format"), "pt");
}

TEST_P(HuggingFaceTest, ComesBackBitByBit) {
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*saved.any));
  EXPECT_EQ(load_config(saved.path()).model, saved.config.model);
}

TEST_P(HuggingFaceTest, LoadsIntoTraining) {
  ParameterStore store;
  const auto model = make_model(store.root(), saved.config.model);
  store.allocate(DType::f32, 99);
  EXPECT_TRUE(load_parameters(saved.path(), store, saved.config.model).empty());
  for (const ParameterEntry& entry : saved.store.entries()) {
    EXPECT_EQ(store.find(entry.name).value.to_vector(), entry.value.to_vector()) << entry.name;
  }
}

TEST_P(HuggingFaceTest, FilesWithoutThePrefix) {
  TensorMap bare;
  for (const auto& [name, tensor] : read_tensors(saved.file())) {
    const std::string prefix = is_gpt() ? "transformer." : "bert.";
    bare[name.starts_with(prefix) ? name.substr(prefix.size()) : name] = tensor;
  }
  write_tensors(saved.file(), bare);
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*saved.any));
}

TEST_P(HuggingFaceTest, TensorsThatCarryNothing) {
  TensorMap tensors = read_tensors(saved.file());
  for (const char* name :
       is_gpt() ? std::vector<const char*>{"transformer.h.0.attn.bias",
                                           "transformer.h.1.attn.masked_bias", "lm_head.weight"}
                : std::vector<const char*>{"bert.embeddings.position_ids",
                                           "cls.predictions.decoder.weight",
                                           "cls.predictions.decoder.bias"}) {
    tensors[name] = Tensor::zeros({4});
  }
  write_tensors(saved.file(), tensors);
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*saved.any));
}

TEST_P(HuggingFaceTest, Bf16Weights) {
  TensorMap rounded;
  for (const auto& [name, tensor] : read_tensors(saved.file())) {
    rounded[name] = tensor.to(DType::bf16);
  }
  const auto narrow = outputs_of(saved.path(), DType::bf16);
  write_tensors(saved.file(), rounded);
  ParameterStore store;
  const auto model = make_model(store.root(), saved.config.model);
  store.allocate(DType::f32, [&](const ParameterEntry& entry, std::span<float> values) {
    const auto from = saved.store.entries();
    for (const ParameterEntry& other : from) {
      if (other.name == entry.name) {
        const auto expected = other.value.to(DType::bf16).to_vector();
        std::copy(expected.begin(), expected.end(), values.begin());
      }
    }
  });
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*model));
  EXPECT_EQ(outputs_of(saved.path(), DType::bf16).size(), narrow.size());
}

// A half that is no larger than the value; what is below the smallest normal one becomes 0.
uint16_t half_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t exponent = (bits >> 23) & 0xFFU;
  const uint32_t sign = (bits >> 16) & 0x8000U;
  return static_cast<uint16_t>(
      exponent < 113 ? sign : sign | ((exponent - 112) << 10) | ((bits >> 13) & 0x3FFU));
}

TEST_P(HuggingFaceTest, F16Weights) {
  Json header = Json::object();
  std::string bytes;
  TensorMap rounded;
  for (const auto& [name, tensor] : read_tensors(saved.file())) {
    const size_t begin = bytes.size();
    Tensor values = tensor.clone();
    for (float& value : values.span<float>()) {
      const uint16_t half = half_of(value);
      value = half_to_float(half);
      bytes.append(reinterpret_cast<const char*>(&half), sizeof(half));
    }
    rounded[name] = values;
    std::vector<int64_t> shape;
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      shape.push_back(tensor.dim(axis));
    }
    header[name] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {begin, bytes.size()}}};
  }
  write_tensors(saved.file(), rounded);
  const auto expected = outputs_of(saved.path());
  const std::string text = header.dump();
  const uint64_t length = text.size();
  saved.folder.write(
      "model.safetensors",
      std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text + bytes);
  EXPECT_EQ(outputs_of(saved.path()), expected);
}

TEST_P(HuggingFaceTest, Shards) {
  TensorMap shards[2];
  Json map = Json::object();
  size_t count = 0;
  for (const auto& [name, tensor] : read_tensors(saved.file())) {
    const size_t shard = count++ % 2;
    shards[shard][name] = tensor;
    map[name] = fmt::format("model-0000{}-of-00002.safetensors", shard + 1);
  }
  write_tensors(saved.folder / "model-00001-of-00002.safetensors", shards[0]);
  write_tensors(saved.folder / "model-00002-of-00002.safetensors", shards[1]);
  saved.folder.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  fs::remove(saved.file());
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*saved.any));
}

TEST_P(HuggingFaceTest, WrongTensorsAreNamed) {
  const TensorMap good = read_tensors(saved.file());
  const std::string place = "[model folder] " + saved.file().string();
  TensorMap tensors = good;
  tensors["transformer.h.7.ln_1.weight"] = Tensor::zeros({16});
  write_tensors(saved.file(), tensors);
  EXPECT_EQ(load_error(saved),
            place + ": tensor transformer.h.7.ln_1.weight belongs to no parameter of this model");
  for (const std::string& name :
       is_gpt() ? std::vector<std::string>{"transformer.h.1.mlp.c_fc.weight",
                                           "transformer.h.0.attn.c_attn.bias"}
                : std::vector<std::string>{"bert.encoder.layer.1.attention.self.key.weight",
                                           "bert.embeddings.LayerNorm.bias"}) {
    tensors = good;
    tensors.erase(name);
    write_tensors(saved.file(), tensors);
    EXPECT_EQ(load_error(saved), place + " has no tensor " + name);
    tensors[name] = Tensor::zeros({5, 7});
    write_tensors(saved.file(), tensors);
    const std::string error = load_error(saved);
    EXPECT_TRUE(error.starts_with(place + ": tensor " + name + " is [5,7], expected [")) << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HuggingFaceTest, ::testing::Values("gpt2", "bert"),
                         [](const auto& info) { return std::string(info.param); });

// GPT-2's products lie as [in,out].
TEST(HuggingFace, LayoutOfGpt) {
  const TinyFolder saved;
  TensorMap tensors = read_tensors(saved.file());
  const Tensor theirs = tensors.at("transformer.h.1.attn.c_attn.weight");
  const auto& entries = saved.store.entries();
  const auto ours = std::find_if(entries.begin(), entries.end(), [](const ParameterEntry& entry) {
    return entry.name == "layers.1.self_attention.qkv.weight";
  });
  ASSERT_NE(ours, entries.end());
  for (int64_t in = 0; in < 32; ++in) {
    for (int64_t out = 0; out < 96; ++out) {
      ASSERT_EQ(theirs.data<float>()[in * 96 + out], ours->value.data<float>()[out * 32 + in]);
    }
  }
}

// BERT's queries, keys and values are three matrices: the rows of ours.
TEST(HuggingFace, LayoutOfBert) {
  const TinyFolder saved(tiny_bert(kAllHeads));
  TensorMap tensors = read_tensors(saved.file());
  for (const ParameterEntry& entry : saved.store.entries()) {
    const std::string suffix = entry.name.substr(entry.name.rfind('.'));
    if (!entry.name.starts_with("layers.0.self_attention.qkv")) {
      continue;
    }
    std::vector<float> joined;
    for (const char* part : {"query", "key", "value"}) {
      const auto values =
          tensors.at("bert.encoder.layer.0.attention.self." + std::string(part) + suffix)
              .to_vector();
      joined.insert(joined.end(), values.begin(), values.end());
    }
    EXPECT_EQ(joined, entry.value.to_vector()) << entry.name;
  }
}

// As google-bert/bert-base-uncased has them.
TEST(HuggingFace, NormsCalledGammaAndBeta) {
  const TinyFolder saved(tiny_bert(kAllHeads));
  TensorMap old;
  for (auto& [name, tensor] : read_tensors(saved.file())) {
    std::string renamed = name;
    if (const size_t at = name.find("LayerNorm."); at != std::string::npos) {
      renamed =
          name.substr(0, at) + (name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
    }
    old[renamed] = tensor;
  }
  ASSERT_TRUE(old.contains("bert.encoder.layer.1.output.LayerNorm.gamma"));
  write_tensors(saved.file(), old);
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*saved.any));
}

TEST(HuggingFace, OutputOfItsOwn) {
  const TinyFolder saved(tiny_gpt({{"tied_output", false}}));
  EXPECT_EQ(shapes_of(saved.file()).at("lm_head.weight"), (std::vector<int64_t>{kWords, 32}));
  EXPECT_EQ(outputs_of(saved.path()), outputs_of(*saved.any));
  EXPECT_FALSE(load_config(saved.path()).model.at("tied_output").get<bool>());
}

// Heads are there if the file has them.
TEST(HuggingFace, HeadsOfBert) {
  const auto loaded = [](const Json& heads) {
    const TinyFolder saved(tiny_bert(heads));
    return std::pair(
        load_config(saved.path()).model,
        Json::parse(read_file(saved.folder / "config.json")).at("architectures").at(0));
  };
  const auto [plain, plain_name] = loaded({{"pooler", false}});
  EXPECT_EQ(plain_name, "BertModel");
  EXPECT_EQ(plain.at("pooler"), false);
  EXPECT_EQ(plain.at("masked_head"), false);
  EXPECT_EQ(plain.at("labels"), 0);
  EXPECT_EQ(loaded({{"masked_head", true}}).second, "BertForMaskedLM");
  EXPECT_EQ(loaded({{"masked_head", true}, {"next_head", true}}).second, "BertForPreTraining");
  const auto [classes, classes_name] = loaded({{"labels", 5}});  // that have no names
  EXPECT_EQ(classes_name, "BertForSequenceClassification");
  EXPECT_EQ(classes.at("labels"), 5);
}

// Heads of tokens and of choices have the names that a head of texts has, so that such a folder
// opened as a classifier of texts.
TEST(HuggingFace, OtherHeadsOfBertAreRefused) {
  const TinyFolder saved(tiny_bert({{"labels", 3}}));
  Json json = Json::parse(read_file(saved.folder / "config.json"));
  const auto error_with = [&](const Json& architectures) {
    json["architectures"] = architectures;
    saved.folder.write("config.json", json.dump());
    return load_error(saved);
  };
  const std::string place = "[" + (saved.folder / "config.json").string() + "] ";
  for (const std::string name : {"BertForTokenClassification", "BertForMultipleChoice"}) {
    EXPECT_EQ(error_with({name}),
              place + "architectures says " + name +
                  ", Heed supports BertModel, BertForMaskedLM, BertForNextSentencePrediction, "
                  "BertForPreTraining, BertForSequenceClassification");
  }
  for (const Json& fine :
       {Json::array({"BertForSequenceClassification"}), Json::array({"BertModel"}),
        Json::array({"BertForPreTraining"}), Json::array(), Json()}) {
    EXPECT_EQ(error_with(fine), "no error") << fine;
  }
}

TEST(HuggingFace, NamesOfClasses) {
  const TinyFolder saved(tiny_bert({{"labels", 3}}));
  save_config(saved.path(), {.model = saved.config.model, .labels = {"bad", "good", "gut"}});
  const FolderConfig config = load_config(saved.path());
  EXPECT_EQ(config.labels, (std::vector<std::string>{"bad", "good", "gut"}));
  EXPECT_FALSE(config.score);
  Json json = Json::parse(read_file(saved.folder / "config.json"));
  EXPECT_EQ(json.at("id2label").at("1"), "good");
  EXPECT_EQ(json.at("label2id").at("gut"), 2);
  json["id2label"] = {{"0", "bad"}, {"2", "good"}, {"3", "gut"}};
  saved.folder.write("config.json", json.dump());
  EXPECT_EQ(load_error(saved),
            "[" + (saved.folder / "config.json").string() + "] id2label has no name for class 1");
}

Json from(const Json& config) {
  return resolve_model_config(from_huggingface(
                                  config, [](std::string_view) { return false; }, "config.json"),
                              "test");
}

// Their configuration of the smallest GPT-2, and of BERT, in their words.
TEST(HuggingFace, KnownConfigurations) {
  const Json gpt = from(Json::parse(R"({"activation_function": "gelu_new",
      "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
      "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
      "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768,
      "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1,
      "summary_activation": null, "vocab_size": 50257})"));
  Json expected = resolve_model_config({{"kind", "gpt2"}, {"preset", "small"}}, "test");
  for (const char* key : {"dropout", "embedding_dropout", "attention_dropout"}) {
    expected[key] = gpt.at(key);
    EXPECT_FLOAT_EQ(gpt.at(key).get<float>(), 0.1F);
  }
  EXPECT_EQ(gpt, expected);
  const Json bert = from(Json::parse(R"({"architectures": ["BertForMaskedLM"],
      "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": false, "hidden_act": "gelu",
      "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
      "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
      "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
      "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0",
      "type_vocab_size": 2, "use_cache": true, "vocab_size": 30522})"));
  EXPECT_EQ(bert, resolve_model_config({{"kind", "bert"}, {"preset", "base"}, {"pooler", false}},
                                       "test"));
}

TEST(HuggingFace, ConfigurationsComeBack) {
  for (const Json& fields : {tiny_gpt({{"vocabulary", 77},
                                       {"hidden", 50},
                                       {"dropout", 0.25},
                                       {"embedding_dropout", 0.5},
                                       {"attention_dropout", 0.125},
                                       {"activation", "relu"},
                                       {"epsilon", 1e-6},
                                       {"tied_output", false}}),
                             tiny_gpt({{"activation", "gelu"}}),
                             tiny_bert({{"vocabulary", 77},
                                        {"types", 3},
                                        {"pooler", false},
                                        {"dropout", 0.25},
                                        {"attention_dropout", 0.125},
                                        {"head_dropout", 0.0},
                                        {"activation", "gelu_tanh"}})}) {
    const Json model = resolve_model_config(fields, "test");
    EXPECT_EQ(from(to_huggingface(model)), model);
  }
  EXPECT_TRUE(to_huggingface(resolve_model_config({{"kind", "transformer"}}, "test")).empty());
}

TEST(HuggingFace, WhatHeedDoesNotDoIsNamed) {
  const auto error_with = [](const char* type, const char* key, const Json& value) {
    return error_of([&] { from({{"model_type", type}, {key, value}}); });
  };
  EXPECT_EQ(error_with("llama", "a", 1),
            "[config.json] model_type is llama, Heed supports gpt2 and bert");
  EXPECT_EQ(error_with("gpt2", "scale_attn_weights", false),
            "[config.json] scale_attn_weights is false, Heed supports only true");
  EXPECT_EQ(error_with("gpt2", "scale_attn_by_inverse_layer_idx", true),
            "[config.json] scale_attn_by_inverse_layer_idx is true, Heed supports only false");
  EXPECT_EQ(error_with("gpt2", "add_cross_attention", true),
            "[config.json] add_cross_attention is true, Heed supports only false");
  EXPECT_EQ(error_with("gpt2", "activation_function", "silu"),
            "[config.json] activation_function is silu, Heed supports gelu, gelu_new and relu");
  EXPECT_EQ(error_with("bert", "position_embedding_type", "relative_key"),
            "[config.json] position_embedding_type is \"relative_key\", Heed supports only "
            "\"absolute\"");
  EXPECT_EQ(error_with("bert", "is_decoder", true),
            "[config.json] is_decoder is true, Heed supports only false");
  EXPECT_EQ(error_with("bert", "architectures", 3),
            "[config.json] architectures is 3, expected a list of names");
  EXPECT_EQ(error_with("bert", "hidden_size", "768"),
            "[config.json] hidden_size is \"768\", expected a whole number");
  EXPECT_EQ(error_with("bert", "hidden_dropout_prob", "0.1"),
            "[config.json] hidden_dropout_prob is \"0.1\", expected a number");
  EXPECT_EQ(error_with("gpt2", "tie_word_embeddings", 1),
            "[config.json] tie_word_embeddings is 1, expected true or false");
  EXPECT_EQ(error_of([] {
              from({{"model_type", 3}});
            }),
            "[config.json] model_type is 3, expected a text");
  EXPECT_EQ(error_with("gpt2", "n_inner", Json()), "no error");
  EXPECT_NE(error_with("gpt2", "n_layer", -1), "no error");
  EXPECT_NE(error_with("gpt2", "attn_pdrop", 1e300), "no error");
  // An output matrix of its own would be ignored in silence.
  const Json untied{{"model_type", "bert"}, {"tie_word_embeddings", false}};
  EXPECT_EQ(error_of([&] {
              from_huggingface(
                  untied, [](std::string_view) { return true; }, "config.json");
            }),
            "[config.json] tie_word_embeddings is false, Heed supports only true");
}

}  // namespace
}  // namespace heed::testing
