// Texts in, translations out: order, empty lines, lines that are too long, and bytes that are no
// text.
#include "decode/text/translator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "decode/scripted_model.h"
#include "models/registry.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

// A folder with a small Transformer whose values are drawn by chance, loaded.
struct Loaded {
  explicit Loaded(const Json& more = Json::object()) {
    const auto tokenizer = train_tokenizer(
        {"the quick brown fox jumps over the lazy dog.", "für Größe; ja! nein?", "狐。犬"},
        {.kind = "char"});
    Json config{{"kind", "transformer"},
                {"vocabulary", tokenizer->size()},
                {"hidden", 48},
                {"encoder_layers", 1},
                {"decoder_layers", 1}};
    config.update(more);
    if (config["kind"] == "transformer") {
      config.update({{"width", 32}, {"heads", 4}});
    }
    FolderConfig folder_config;
    folder_config.model = resolve_model_config(config, "test");
    ParameterStore store;
    const auto built = make_model(store.root(), folder_config.model);
    store.allocate(DType::f32, 8, ParameterStore::Use::batch_invariant);
    save_config(folder / "", folder_config);
    save_tokenizers(folder / "", {tokenizer, tokenizer});
    save_parameters(folder / "model.safetensors", store, folder_config.model);
    model = load_translator(folder / "", DType::f32);
  }

  TemporaryFolder folder;
  std::unique_ptr<LoadedTranslator> model;
};

// The same with a model that says its source again.
struct Echoing : Loaded {
  explicit Echoing(const Script& says = echo()) {
    auto made = std::make_unique<ScriptedModel>(says, model->tokenizers.target->size());
    script = made.get();
    model->model = script;
    model->any = std::move(made);
  }

  Translator::Result translate(const std::string& text, int64_t longest) const {
    script->sources.clear();
    const Translator translator(*model, {.longest = longest});
    const SourceText source{text};
    return translator.translate(std::span(&source, 1)).front();
  }
  // What the model was shown, in alphabetical order.
  std::vector<std::string> shown() const {
    std::vector<std::string> texts;
    for (const Ids& source : script->sources) {
      texts.push_back(model->tokenizers.source->decode(source));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  size_t longest_source() const {
    size_t longest = 0;
    for (const Ids& source : script->sources) {
      longest = std::max(longest, source.size());
    }
    return longest;
  }

  const ScriptedModel* script = nullptr;
};

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) {
    result += text;
  }
  return result;
}

TEST(Translator, KeepsTheOrder) {
  const Echoing echoing;
  const std::vector<SourceText> texts{{"the fox"}, {"a"}, {""}, {"jumps over the lazy dog."},
                                      {"für"},     {" "}, {"x"}};
  for (const int64_t batch_tokens : {1, 30, 4096}) {
    const Translator translator(*echoing.model, {.batch_tokens = batch_tokens});
    const auto results = translator.translate(texts);
    ASSERT_EQ(results.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(results[i].best.front().text, texts[i].text == " " ? "" : texts[i].text);
    }
  }
  EXPECT_TRUE(Translator(*echoing.model, {}).translate({}).empty());
}

TEST(Translator, BlankTexts) {
  const Echoing echoing;
  for (const char* text : {"", " ", "   ", "\t", "\r\n", " \t\v\f "}) {
    const auto result = echoing.translate(text, 20);
    ASSERT_EQ(result.best.size(), 1U);
    EXPECT_EQ(result.best[0].text, "");
    EXPECT_EQ(result.best[0].score, 0.0);
    EXPECT_TRUE(echoing.script->sources.empty());  // the model is not asked
  }
}

TEST(Translator, LinesLikeThoseOfTheTrainingStayWhole) {
  Echoing echoing;
  const std::string text = "the fox. the quick! jumps? a dog";  // 8, 10, 6 and 5 tokens, 32 in all
  using Texts = std::vector<std::string>;
  const auto shown = [&](const TrainingLines& lines) {
    echoing.model->config.training_lines = lines;
    const auto result = echoing.translate(text, 256);
    EXPECT_EQ(result.best.front().text, text);
    EXPECT_FALSE(result.cut);
    EXPECT_FALSE(result.shortfall.has_value());
    EXPECT_EQ(result.pieces, std::ssize(echoing.script->sources));
    return echoing.shown();
  };
  EXPECT_EQ(shown({.typical_tokens = 8, .most_tokens = 32, .most_sentences = 4}), Texts{text});
  // Too many tokens or sentences: sentences, of which neighbours make a typical line.
  const Texts pairs{"jumps? a dog", "the fox. the quick!"};
  EXPECT_EQ(shown({.typical_tokens = 19, .most_tokens = 31, .most_sentences = 4}), pairs);
  EXPECT_EQ(shown({.typical_tokens = 32, .most_tokens = 32, .most_sentences = 2}), pairs);
  const Texts single{"a dog", "jumps?", "the fox.", "the quick!"};
  EXPECT_EQ(shown({.typical_tokens = 11, .most_tokens = 31, .most_sentences = 4}), single);
  EXPECT_EQ(shown({.typical_tokens = 32, .most_tokens = 32, .most_sentences = 1}), single);
}

TEST(Translator, OneSentenceIsShownAsItStands) {
  Echoing echoing;
  echoing.model->config.source_language = "en";
  echoing.model->config.training_lines = {
      .typical_tokens = 2, .most_tokens = 2, .most_sentences = 1};
  for (const std::string text : {"the lazy dog", "  the fox. ", "dr. fox over the dog; jumps"}) {
    EXPECT_EQ(echoing.translate(text, 256).best.front().text, text);
    EXPECT_EQ(echoing.shown(), std::vector<std::string>{text});
  }
}

// A model that learned single sentences stops where the first one ends.
TEST(Translator, NoSentenceOfALongLineIsLost) {
  Echoing echoing;
  const int32_t stop = *echoing.model->tokenizers.source->find(".");
  const Script first_sentence = [stop](const Ids& source, const Ids& said) {
    return !said.empty() && said.back() == stop ? Probabilities{{kEnd, 1.0}} : echo()(source, said);
  };
  Echoing sentence(first_sentence);
  sentence.model->config.training_lines = {
      .typical_tokens = 12, .most_tokens = 30, .most_sentences = 1};
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text +=
        (text.empty() ? "" : " ") + repeated("x", i % 7 + 1) + " fox" + repeated("y", i % 5) + ".";
  }
  const auto result = sentence.translate(text, 256);
  EXPECT_EQ(result.best.front().text, text);
  EXPECT_EQ(result.pieces, 60);
  EXPECT_FALSE(result.shortfall.has_value());
}

TEST(Translator, LineBreaksStay) {
  const Echoing echoing;
  for (const std::string text : {"the fox\njumps", "the fox.\n\n\nthe dog\n", "\n\nfox",
                                 "a\r\nb\r\n", "the fox. the dog. x\n  the dog! fox? a; b"}) {
    EXPECT_EQ(echoing.translate(text, 20).best.front().text, text);
    for (const std::string& shown : echoing.shown()) {
      EXPECT_EQ(shown.find('\n'), std::string::npos) << shown;
    }
  }
}

TEST(Translator, TheJointIsThatOfTheTargetLanguage) {
  Echoing echoing;
  echoing.model->config.training_lines = {
      .typical_tokens = 1, .most_tokens = 1, .most_sentences = 1};
  const auto translated = [&](const std::string& text, const std::string& target) {
    echoing.model->config.target_language = target;
    return echoing.translate(text, 256).best.front().text;
  };
  EXPECT_EQ(translated("fox.  dog! x", "de"), "fox.  dog! x");
  EXPECT_EQ(translated("狐。犬", "de"), "狐。 犬");
  EXPECT_EQ(translated("狐。犬", "zh"), "狐。犬");
  EXPECT_EQ(translated("fox.  dog! x", "zh-CN"), "fox.dog!x");
  EXPECT_EQ(translated("fox.\ndog! x", "ja"), "fox.\ndog!x");
}

TEST(Translator, ShortTranslationsAreReported) {
  const Script two = [](const Ids& source, const Ids& said) {  // says two tokens of each source
    return said.size() < 2 ? echo()(source, said) : Probabilities{{kEnd, 1.0}};
  };
  Echoing echoing(two);
  echoing.model->config.training_lines = {.most_tokens = 100, .least_ratio = 0.5};
  EXPECT_FALSE(echoing.translate("the fox", 256).shortfall.has_value());
  const auto result = echoing.translate("the lazy dog jumps", 256);
  ASSERT_TRUE(result.shortfall.has_value());
  EXPECT_EQ(result.shortfall->text(),
            "18 tokens became only 2; the translation probably lacks something");
  const SourceText text{"the lazy dog jumps"};
  const Translator limited(*echoing.model, {.decode = {.max_length = 2}});
  EXPECT_FALSE(limited.translate(std::span(&text, 1)).front().shortfall.has_value());
}

TEST(Translator, SaysHowFarItIs) {
  const Echoing echoing;
  std::vector<double> shares;
  const Translator translator(*echoing.model, {.batch_tokens = 1, .on_decoded = [&](double share) {
                                                 shares.push_back(share);
                                               }});
  translator.translate(std::vector<SourceText>{{"abc"}, {""}, {"a"}});
  EXPECT_EQ(shares, (std::vector<double>{4.0 / 6.0, 1.0}));  // with END
}

TEST(Translator, CutsBetweenWords) {
  const Echoing echoing;
  const std::string text = repeated("lazy brown dog ", 40);
  const auto result = echoing.translate(text, 20);
  EXPECT_TRUE(result.cut);
  EXPECT_GT(result.pieces, 29);  // 600 characters, 19 a piece at most
  EXPECT_EQ(static_cast<size_t>(result.pieces), echoing.script->sources.size());
  EXPECT_LE(echoing.longest_source(), 20U);
  EXPECT_EQ(without_spaces(result.best.front().text), without_spaces(text));
  for (const Ids& source : echoing.script->sources) {  // no word is broken
    const std::string piece = " " + echoing.model->tokenizers.source->decode(source) + " ";
    EXPECT_TRUE(piece.find(" lazy ") != std::string::npos ||
                piece.find(" brown ") != std::string::npos ||
                piece.find(" dog ") != std::string::npos)
        << piece;
  }
}

TEST(Translator, CutsLongWords) {
  const Echoing echoing;
  for (const std::string& text :
       {repeated("x", 1000), "the " + repeated("fox", 300) + " dog.", repeated("ßü", 150)}) {
    const auto result = echoing.translate(text, 20);
    EXPECT_GT(result.pieces, 15);
    EXPECT_EQ(static_cast<size_t>(result.pieces), echoing.script->sources.size());
    EXPECT_LE(echoing.longest_source(), 20U);
    EXPECT_EQ(without_spaces(result.best.front().text), without_spaces(text));
  }
}

TEST(Translator, BytesThatAreNoText) {
  const Echoing echoing;
  const std::string nul(5, '\0');
  for (const std::string& text :
       {std::string("\xFF\xFE"), std::string("a \xC3"), std::string("\xE2\x82 fox"), nul,
        repeated("\x80", 1000), repeated("\xFF", 1000), repeated("\xF0\x9F", 500),
        "fox " + repeated("\xBF", 333) + " dog", "a" + std::string(500, ' ') + "b",
        repeated("\xF0\x9F\xA6\x8A", 100)}) {
    const auto result = echoing.translate(text, 20);
    EXPECT_GE(result.pieces, 1);
    EXPECT_FALSE(result.best.front().text.empty());
    EXPECT_LE(echoing.longest_source(), 20U) << text;
  }
}

TEST(Translator, PrefixOfTheFirstPiece) {
  const Echoing echoing;
  const std::vector<SourceText> texts{{"the fox. the dog. ", "the"}, {"fox", "d"}};
  const Translator translator(*echoing.model, {.longest = 12});
  const auto results = translator.translate(texts);
  EXPECT_EQ(results[0].pieces, 2);
  EXPECT_EQ(results[0].best.front().text, "the fox. the dog.");
  EXPECT_EQ(results[1].best.front().text, "dox");
}

TEST(Translator, NBest) {
  const Loaded loaded;
  const Translator translator(
      *loaded.model,
      {.decode = {.beam = 4, .n_best = 3, .max_length = 8}, .batch_tokens = 64, .longest = 16});
  const std::vector<SourceText> texts{{"the fox"}, {"the quick brown fox jumps"}, {""}};
  const auto results = translator.translate(texts);
  ASSERT_EQ(results[0].best.size(), 3U);
  EXPECT_GE(results[0].best[0].score, results[0].best[1].score);
  EXPECT_GE(results[0].best[1].score, results[0].best[2].score);
  // Of pieces, the first of each, the second of each, and so on.
  EXPECT_GT(results[1].pieces, 1);
  ASSERT_EQ(results[1].best.size(), 3U);
  EXPECT_GE(results[1].best[0].score, results[1].best[1].score);
  EXPECT_GE(results[1].best[1].score, results[1].best[2].score);
  EXPECT_EQ(results[2].best.size(), 1U);
}

TEST(Translator, TheSameTogetherAndAlone) {
  const Loaded loaded;
  const Translator translator(*loaded.model, {.longest = 24});
  const std::vector<SourceText> texts{{"the fox"}, {"jumps over the lazy dog. für Größe; ja!"},
                                      {""},        {"\xFF\x80"},
                                      {"x"},       {"nein? ja! the dog"}};
  const auto together = translator.translate(texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto alone = translator.translate(std::span(&texts[i], 1)).front();
    EXPECT_EQ(alone.best.front().text, together[i].best.front().text);
    EXPECT_EQ(alone.best.front().score, together[i].best.front().score);
    EXPECT_EQ(alone.pieces, together[i].pieces);
  }
}

// A model with learned positions cannot be shown more than it has, nor say more.
TEST(Translator, LearnedPositions) {
  const Loaded loaded({{"positions", "learned"}, {"longest", 16}});
  const Translator translator(*loaded.model, {});
  const std::vector<SourceText> texts{
      {repeated("fox ", 30)}, {repeated("x", 200)}, {repeated("\x80", 200)}};
  const auto results = translator.translate(texts);
  for (const Translator::Result& result : results) {
    EXPECT_GT(result.pieces, 8);
  }
}

// Whatever is asked for: a length or a beginning beyond the positions.
TEST(Translator, NothingIsSaidBeyondTheLongest) {
  for (const Json& more :
       {Json{{"positions", "learned"}, {"longest", 16}}, Json{{"kind", "conv"}, {"longest", 16}}}) {
    const Loaded loaded(more);
    const Tokenizer& tokenizer = *loaded.model->tokenizers.target;
    const std::vector<DecodeRequest> requests{
        {tokenizer.encode("the fox")}, {tokenizer.encode("fox"), tokenizer.encode("the lazy")}};
    for (const bool forced : {false, true}) {
      const DecodeOptions options{
          .max_length = 1000, .forced_length = forced, .special = tokenizer.special()};
      for (const auto& best : decode_all(*loaded.model->model, requests, options, 4096)) {
        EXPECT_LE(best.front().ids.size(), 16U);
        EXPECT_TRUE(!forced || best.front().ids.size() == 16);
      }
    }
    const Translator translator(*loaded.model, {});
    const std::vector<SourceText> longest{{"fox", std::string(16, 'x')}};
    EXPECT_EQ(translator.translate(longest).front().best.front().text, std::string(16, 'x'));
    const std::vector<SourceText> longer{{"fox", std::string(17, 'x')}};
    EXPECT_EQ(
        error_of([&] { translator.translate(longer); }),
        "[decode] a prefix has 17 tokens, expected at most 16, the longest output of the model");
  }
}

}  // namespace
}  // namespace heed::testing
