// tokenizer.json: as Hugging Face writes it, as we write it, and as nobody should; and folders that
// hold one tokenizer or another.
#include "text/tokenizer_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/support/error_of.h"
#include "tests/support/text_files.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/byte_bpe.h"
#include "text/wordpiece.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;
using Ids = std::vector<int32_t>;
using Json = nlohmann::ordered_json;

std::filesystem::path data_folder(const char* name) {
  const char* data = std::getenv("HEED_DATA");
  return std::filesystem::path(data != nullptr ? data : "../shared/data") / "tokenizers" / name;
}

// As the files of BERT are, from a time when models did not say their type.
Json bert_json() {
  return Json::parse(R"({
    "version": "1.0", "truncation": {"max_length": 512}, "padding": null,
    "added_tokens": [
      {"id": 0, "special": true, "content": "[PAD]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false},
      {"id": 1, "special": true, "content": "[UNK]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false},
      {"id": 2, "special": true, "content": "[CLS]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false},
      {"id": 3, "special": true, "content": "[SEP]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false},
      {"id": 9, "special": true, "content": "[NEW]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "hell": 4, "##o": 5,
                        "cafe": 6, "##s": 7, "!": 8}}
  })");
}

// As GPT-2's file is: the bytes come first, in the order of the byte alphabet.
Json gpt2_json() {
  Json json = Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 259, "special": true, "content": "<|endoftext|>", "single_word": false,
       "lstrip": false, "rstrip": false, "normalized": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
    "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    "model": {"dropout": null, "unk_token": null, "continuing_subword_prefix": "",
              "end_of_word_suffix": "", "fuse_unk": false, "vocab": {},
              "merges": ["h e", "l l", "Ġ he"]}
  })");
  Json& vocab = json["model"]["vocab"];
  for (size_t i = 0; i < 256; ++i) {
    vocab[to_byte_alphabet(std::string(1, static_cast<char>(byte_alphabet_order()[i])))] = i;
  }
  vocab["he"] = 256;
  vocab["ll"] = 257;
  vocab["Ġhe"] = 258;
  vocab["<|endoftext|>"] = 259;
  return json;
}

std::shared_ptr<const Tokenizer> read(const Json& json) {
  return read_tokenizer_json(json.dump(), "t.json");
}

TEST(TokenizerJson, WordPieceAsBertHasIt) {
  const auto tokenizer = read(bert_json());
  EXPECT_EQ(tokenizer->kind(), "wordpiece");
  EXPECT_EQ(tokenizer->size(), 10);
  EXPECT_EQ(tokenizer->encode("Hello [NEW]Cafés! hex"), (Ids{4, 5, 9, 6, 7, 8, 1}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 4, 5, 9, 8, 3}), "hello!");
  EXPECT_EQ(tokenizer->special().start, 2);
  EXPECT_EQ(tokenizer->special().end, 3);
}

TEST(TokenizerJson, ByteBpeAsGpt2HasIt) {
  const auto tokenizer = read(gpt2_json());
  EXPECT_EQ(tokenizer->kind(), "byte_bpe");
  EXPECT_EQ(tokenizer->size(), 260);
  // "o" is the 79th visible character of ASCII, "!" the first.
  EXPECT_EQ(tokenizer->encode("hello hello<|endoftext|>!"),
            (Ids{256, 257, 78, 258, 257, 78, 259, 0}));
  EXPECT_EQ(tokenizer->special().end, 259);
}

TEST(TokenizerJson, OptionsAreRead) {
  Json json = bert_json();
  json["normalizer"]["lowercase"] = false;
  EXPECT_EQ(read(json)->encode("Hello hello café cafe"), (Ids{1, 4, 5, 1, 6}));
  json["normalizer"]["strip_accents"] = true;
  EXPECT_EQ(read(json)->encode("café"), (Ids{6}));
  json["model"]["max_input_chars_per_word"] = 3;
  EXPECT_EQ(read(json)->encode("café"), (Ids{1}));
  Json prefixed = gpt2_json();
  prefixed["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(read(prefixed)->encode("he"), (Ids{258}));
}

TEST(TokenizerJson, NewerFiles) {
  Json json = gpt2_json();
  json["model"]["type"] = "BPE";
  json["model"]["byte_fallback"] = false;
  json["model"]["ignore_merges"] = false;
  json["model"]["merges"] = Json::parse(R"([["h", "e"], ["l", "l"], ["Ġ", "he"]])");
  json["pre_tokenizer"]["use_regex"] = true;
  EXPECT_EQ(read(json)->encode(" hell"), (Ids{258, 257}));
  Json bert = bert_json();
  bert["model"]["type"] = "WordPiece";
  bert["post_processor"] = {{"type", "TemplateProcessing"}};
  bert.erase("decoder");
  EXPECT_EQ(read(bert)->encode("hello"), (Ids{4, 5}));
}

// What is read, written and read again gives the same ids and the same bytes.
void expect_round_trip(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  const std::string written = tokenizer.serialize();
  const auto again = read_tokenizer_json(written, "again");
  EXPECT_EQ(again->serialize(), written);
  EXPECT_EQ(again->size(), tokenizer.size());
  for (const std::string& text : texts) {
    EXPECT_EQ(again->encode(text), tokenizer.encode(text)) << text;
  }
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    ASSERT_EQ(again->piece(id), tokenizer.piece(id));
  }
}

TEST(TokenizerJson, WrittenAndReadAgain) {
  const std::vector<std::string> texts = {"hello cafés!", "[NEW] Café \u4E2D", "<|endoftext|>he"};
  expect_round_trip(*read(gpt2_json()), texts);
  for (const char* strip : {"null", "true", "false"}) {
    Json json = bert_json();
    json["normalizer"]["strip_accents"] = Json::parse(strip);
    json["normalizer"]["handle_chinese_chars"] = false;
    expect_round_trip(*read(json), texts);
    EXPECT_EQ(Json::parse(read(json)->serialize())["normalizer"], json["normalizer"]);
  }
}

TEST(TokenizerJson, WhatIsWritten) {
  const Json bert = Json::parse(read(bert_json())->serialize());
  EXPECT_EQ(bert["version"], "1.0");
  EXPECT_TRUE(bert["truncation"].is_null() && bert["padding"].is_null());
  EXPECT_EQ(bert["added_tokens"][4].dump(),
            R"({"id":9,"content":"[NEW]","single_word":false,"lstrip":false,"rstrip":false,)"
            R"("normalized":false,"special":true})");
  EXPECT_EQ(
      bert["post_processor"].dump(),
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],)"
      R"("pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":1}}],"special_tokens":)"
      R"({"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},)"
      R"("[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}})");
  EXPECT_EQ(bert["model"]["type"], "WordPiece");
  EXPECT_EQ(bert["model"]["vocab"], bert_json()["model"]["vocab"]);  // in the order of ids
  const Json gpt2 = Json::parse(read(gpt2_json())->serialize());
  EXPECT_EQ(gpt2["model"]["merges"], gpt2_json()["model"]["merges"]);
  EXPECT_EQ(gpt2["model"]["vocab"], gpt2_json()["model"]["vocab"]);
  EXPECT_EQ(
      gpt2["pre_tokenizer"].dump(),
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})");
}

// The error after a value is put in the place of another.
std::string error_with(Json json, const char* pointer, const Json& value) {
  json[Json::json_pointer(pointer)] = value;
  return error_of([&] { read(json); });
}

TEST(TokenizerJson, WhatIsNotSupported) {
  const Json bert = bert_json();
  const Json gpt2 = gpt2_json();
  const std::vector<std::tuple<const Json*, const char*, Json, const char*>> cases = {
      {&gpt2, "/model/type", "Unigram", "model.type is \"Unigram\", expected BPE or WordPiece"},
      {&gpt2, "/model/dropout", 0.1, "model.dropout is 0.1, expected null"},
      {&gpt2, "/model/byte_fallback", true, "model.byte_fallback is true, expected false"},
      {&gpt2, "/model/ignore_merges", true, "model.ignore_merges is true, expected false"},
      {&gpt2, "/model/end_of_word_suffix", "</w>",
       "model.end_of_word_suffix is \"</w>\", expected null"},
      {&gpt2,
       "/normalizer",
       {{"type", "NFC"}},
       "normalizer is an object, expected null for a model of type BPE"},
      {&gpt2, "/pre_tokenizer", nullptr,
       "pre_tokenizer is missing, expected an object of type ByteLevel for a model of type BPE"},
      {&gpt2, "/pre_tokenizer/type", "Metaspace",
       "pre_tokenizer.type is \"Metaspace\", expected ByteLevel"},
      {&gpt2, "/pre_tokenizer/use_regex", false, "pre_tokenizer.use_regex is false, expected true"},
      {&gpt2, "/decoder/type", "BPEDecoder", "decoder.type is \"BPEDecoder\", expected ByteLevel"},
      {&gpt2, "/added_tokens/0/lstrip", true, "added_tokens[0].lstrip is true, expected false"},
      {&bert, "/normalizer", nullptr,
       "normalizer is missing, expected an object of type BertNormalizer for a model of type "
       "WordPiece"},
      {&bert, "/normalizer/type", "Lowercase",
       "normalizer.type is \"Lowercase\", expected BertNormalizer"},
      {&bert, "/normalizer/clean_text", false, "normalizer.clean_text is false, expected true"},
      {&bert, "/pre_tokenizer/type", "Whitespace",
       "pre_tokenizer.type is \"Whitespace\", expected BertPreTokenizer"},
      {&bert, "/post_processor/type", "Sequence",
       "post_processor.type is \"Sequence\", expected TemplateProcessing or BertProcessing or "
       "RobertaProcessing or ByteLevel"},
      {&bert, "/decoder/cleanup", false, "decoder.cleanup is false, expected true"},
      {&bert, "/decoder/prefix", "@@",
       "decoder.prefix is \"@@\", expected what model.continuing_subword_prefix is"},
      {&bert, "/added_tokens/4/normalized", true,
       "added_tokens[4].normalized is true, expected false"},
  };
  for (const auto& [json, pointer, value, message] : cases) {
    EXPECT_EQ(error_with(*json, pointer, value), fmt::format("[t.json] {}", message));
  }
}

TEST(TokenizerJson, HostileFiles) {
  const Json bert = bert_json();
  const Json gpt2 = gpt2_json();
  const std::vector<std::tuple<const Json*, const char*, Json, const char*>> cases = {
      {&bert, "/model", 3, "model is 3, expected an object"},
      {&bert, "/model/type", 3, "model.type is 3, expected a string"},
      {&bert, "/model/vocab", {1, 2}, "model.vocab is a list, expected an object"},
      {&bert, "/model/vocab/hell", "4",
       "model.vocab[\"hell\"] is \"4\", expected a number from 0 to 2147483647"},
      {&bert, "/model/vocab/hell", -1,
       "model.vocab[\"hell\"] is -1, expected a number from 0 to 2147483647"},
      {&bert, "/model/vocab/hell", 1.5,
       "model.vocab[\"hell\"] is 1.5, expected a number from 0 to 2147483647"},
      {&bert, "/model/vocab/hell", uint64_t{1} << 63U,
       "model.vocab[\"hell\"] is 9223372036854775808, expected a number from 0 to 2147483647"},
      {&bert, "/model/vocab/hell", 9,
       "model.vocab[\"hell\"] is 9, expected an id below 9, the number of pieces"},
      {&bert, "/model/vocab/hell", 7,
       "model.vocab[\"hell\"] is 7, expected another id than \"##s\" has"},
      {&bert, "/model/unk_token", nullptr, "model.unk_token is missing, expected a string"},
      {&bert, "/model/unk_token", "<unk>",
       "the piece for unknown words, \"<unk>\", is not in the vocabulary"},
      {&bert, "/model/continuing_subword_prefix", nullptr,
       "model.continuing_subword_prefix is missing, expected a string"},
      {&bert, "/normalizer/lowercase", "yes",
       "normalizer.lowercase is \"yes\", expected true or false"},
      {&bert, "/added_tokens", {{"id", 3}}, "added_tokens is an object, expected a list"},
      {&bert, "/added_tokens/1", "x", "added_tokens[1] is \"x\", expected an object"},
      {&bert, "/added_tokens/1/content", 7, "added_tokens[1].content is 7, expected a string"},
      {&bert, "/added_tokens/1/id", 4, "added token \"[UNK]\" has id 4, but is piece 1"},
      {&bert, "/added_tokens/4/id", 2000000000,
       "added token \"[NEW]\" has id 2000000000, expected 9, the next that is free"},
      {&gpt2, "/model/merges", "x", "model.merges is \"x\", expected a list"},
      {&gpt2, "/model/merges/1", "ll",
       "model.merges[1] is \"ll\", expected two pieces with a space between"},
      {&gpt2, "/model/merges/1", "l l l",
       "model.merges[1] is \"l l l\", expected two pieces with a space between"},
      {&gpt2, "/model/merges/1", {"l"}, "model.merges[1] is a list, expected two pieces"},
      {&gpt2, "/model/merges/1", {"l", 3}, "model.merges[1][1] is 3, expected a string"},
  };
  for (const auto& [json, pointer, value, message] : cases) {
    EXPECT_EQ(error_with(*json, pointer, value), fmt::format("[t.json] {}", message));
  }
  const auto error = [](const std::string& text) {
    return error_of([&] { read_tokenizer_json(text, "t.json"); });
  };
  EXPECT_EQ(error("[]"), "[t.json] the file is a list, expected an object");
  EXPECT_EQ(error("{}"), "[t.json] model is missing, expected an object");
  EXPECT_EQ(error(R"({"model":{}})"), "[t.json] model.type is missing, expected a string");
  EXPECT_TRUE(error("{\"model\"").starts_with("[t.json] this is not JSON: "));
  EXPECT_EQ(error(std::string(100000, '[')),
            "[t.json] this is not a tokenizer.json: it is nested more than 32 deep");
}

TEST(TokenizerJson, TheRealOnes) {
  if (!std::filesystem::exists(data_folder("gpt2"))) {
    GTEST_SKIP() << "skipped: no data at " << data_folder("gpt2");
  }
  const auto bert = WordPiece::from_vocab(read_file(data_folder("bert-base-uncased") / "vocab.txt"),
                                          {}, "vocab.txt");
  const auto gpt2 = ByteBpe::from_gpt2(read_file(data_folder("gpt2") / "gpt2-vocab.json"),
                                       read_file(data_folder("gpt2") / "gpt2-merges.txt"), "gpt2");
  const auto texts = [](const char* name) {
    std::vector<std::string> result;
    for (const auto& c : Json::parse(read_file(data_folder(name) / "edge_cases.json"))) {
      result.push_back(c["text"].get<std::string>());
    }
    return result;
  };
  expect_round_trip(*bert, texts("bert-base-uncased"));
  expect_round_trip(*gpt2, texts("gpt2"));
}

TEST(TokenizerFolder, AsHuggingFaceHasIt) {
  const TemporaryFolder folder;
  const auto load = [&](const char* name) { return load_tokenizer_folder(folder / name); };
  const auto make = [&](const char* name) { std::filesystem::create_directory(folder / name); };
  make("none");
  EXPECT_FALSE(has_tokenizer(folder / "none"));
  EXPECT_FALSE(has_tokenizer(folder / "not there"));
  EXPECT_EQ(error_of([&] { load("none"); }),
            fmt::format("[{}] there is no tokenizer in this folder: neither tokenizer.model, "
                        "vocabulary.json, tokenizer.json, vocab.json with merges.txt nor vocab.txt",
                        (folder / "none").string()));
  make("json");
  folder.write("json/tokenizer.json", bert_json().dump());
  EXPECT_TRUE(has_tokenizer(folder / "json"));
  EXPECT_EQ(load("json")->encode("hello"), (Ids{4, 5}));

  make("bert");
  folder.write("bert/vocab.txt", "[UNK]\nhell\n##o\ncafe\ncafé\nHell\n");
  EXPECT_EQ(load("bert")->encode("Hello café"), (Ids{1, 2, 3}));
  folder.write("bert/tokenizer_config.json",
               R"({"do_lower_case": false, "strip_accents": null, "model_max_length": 512})");
  EXPECT_EQ(load("bert")->encode("Hello café"), (Ids{5, 2, 4}));
  folder.write("bert/tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": true})");
  EXPECT_EQ(load("bert")->encode("Hello café"), (Ids{5, 2, 3}));
  folder.write("bert/tokenizer_config.json", R"({"do_lower_case": "no"})");
  EXPECT_EQ(error_of([&] { load("bert"); }),
            fmt::format("[{}] do_lower_case is string, expected true or false",
                        (folder / "bert/tokenizer_config.json").string()));

  make("gpt2");
  folder.write("gpt2/vocab.json", gpt2_json()["model"]["vocab"].dump());
  EXPECT_FALSE(has_tokenizer(folder / "gpt2"));
  EXPECT_EQ(error_of([&] { load_tokenizer(folder / "gpt2/vocab.json"); }),
            fmt::format("[{}] this lists the pieces of GPT-2's kind of tokenizer; name it "
                        "vocab.json, with its merges.txt beside it",
                        (folder / "gpt2/vocab.json").string()));
  folder.write("gpt2/merges.txt", "#version: 0.2\nh e\nl l\nĠ he\n");
  EXPECT_EQ(load("gpt2")->encode("hello"), (Ids{256, 257, 78}));
  EXPECT_EQ(load_tokenizer(folder / "gpt2/vocab.json")->kind(), "byte_bpe");
}

TEST(TokenizerFolder, FilesUnderOtherNames) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_tokenizer(folder.write("my.json", gpt2_json().dump()))->kind(), "byte_bpe");
  EXPECT_EQ(load_tokenizer(folder.write("vocab.txt", "a\nb\n"))->kind(), "token");
  const auto bert = load_tokenizer(folder.write("bert-vocab.txt", "[UNK]\nhell\n##o\nHell\n"));
  EXPECT_EQ(bert->kind(), "wordpiece");
  EXPECT_EQ(bert->encode("Hello"), (Ids{1, 2}));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(load_tokenizer(folder / "bert-vocab.txt")->encode("Hello"), (Ids{3, 2}));
  const auto words = train_tokenizer({"a b"}, {.kind = "word", .vocabulary = 10});
  EXPECT_EQ(load_tokenizer(folder.write("your.json", words->serialize()))->kind(), "word");
  EXPECT_EQ(load_tokenizer(folder.write("vocab.json", words->serialize()))->kind(), "word");
}

}  // namespace
}  // namespace heed
