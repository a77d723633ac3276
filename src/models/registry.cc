#include "models/registry.h"

#include <functional>
#include <utility>
#include <variant>

#include "base/error.h"
#include "models/answering/memory_network.h"
#include "models/answering/story_transformer.h"
#include "models/images/blockwise_image_transformer.h"
#include "models/images/image_transformer.h"
#include "models/images/pixel_cnn.h"
#include "models/language/bert.h"
#include "models/language/blockwise_gpt.h"
#include "models/language/character_transformer.h"
#include "models/language/decomposable_attention.h"
#include "models/language/gpt.h"
#include "models/language/music_transformer.h"
#include "models/language/rnn_encoder.h"
#include "models/language/rnn_language.h"
#include "models/language/self_attentive.h"
#include "models/language/transformer_xl.h"
#include "models/language/universal_encoder.h"
#include "models/language/universal_language.h"
#include "models/translation/bahdanau.h"
#include "models/translation/blockwise_transformer.h"
#include "models/translation/conv.h"
#include "models/translation/latent_transformer.h"
#include "models/translation/parallel_transformer.h"
#include "models/translation/rnn.h"
#include "models/translation/transformer.h"
#include "models/translation/universal_transformer.h"

namespace heed {
namespace {

// What data or a task decides about a model.
using Change = std::variant<VocabularySizes, EncoderHeads, ImageSizes, AnswerSizes>;

struct Kind {
  std::string name;
  std::string extends;  // the kind that it adds parameters to, or empty
  std::vector<std::string> presets;
  std::function<Json(const Json& fields, const std::string& preset, std::string_view where)>
      resolve;
  std::function<std::unique_ptr<Model>(const Scope&, const Json& fields)> make;
  std::function<std::vector<config::FieldHelp>()> fields;
  std::function<ModelSpec(const Json& fields)> spec;
  std::function<Json(const Json& fields, const Change& change)> change;
};

template <typename Config>
Config read_config(const Json& fields) {
  Config config;
  config::read(config, fields, "model");
  return config;
}

template <typename Config, typename Wanted>
concept Follows = requires(Config& config, const Wanted& wanted) {
  adapt(config, wanted);
};

template <typename Config, typename Wanted>
void follow(Config& config, const Wanted& wanted, const std::string& name) {
  if constexpr (Follows<Config, Wanted>) {
    adapt(config, wanted);
  } else {
    fail("[model] a {} {}", name, Wanted::kMissing);
  }
}

template <typename Made, typename Config>
Kind kind(const std::string& name, std::vector<std::pair<std::string, Config>> presets,
          const std::string& extends = "") {
  std::vector<std::string> names;
  names.reserve(presets.size());
  for (const auto& preset : presets) {
    names.push_back(preset.first);
  }
  return {
      .name = name,
      .extends = extends,
      .presets = names,
      .resolve =
          [presets, names](const Json& fields, const std::string& wanted, std::string_view where) {
            Config config;
            if (!wanted.empty()) {
              config::check_choice(where, "model.preset", wanted, {.choices = names});
            }
            for (const auto& [preset, values] : presets) {
              config = preset == wanted ? values : config;
            }
            config::read(config, fields, where, "model");
            return config::write(config);
          },
      .make = [](const Scope& s, const Json& fields) -> std::unique_ptr<Model> {
        return std::make_unique<Made>(s, read_config<Config>(fields));
      },
      .fields =
          [] {
            std::vector<config::FieldHelp> fields;
            config::describe(Config{}, fields);
            return fields;
          },
      .spec =
          [name](const Json& fields) {
            ModelSpec spec = spec_of(read_config<Config>(fields));
            spec.kind = name;
            spec.interface = Made::kInterface;
            return spec;
          },
      .change =
          [name](const Json& fields, const Change& change) {
            auto config = read_config<Config>(fields);
            std::visit([&](const auto& wanted) { follow(config, wanted, name); }, change);
            return config::write(config);
          },
  };
}

TransformerConfig transformer(int64_t width, int64_t heads, int64_t layers, float dropout) {
  TransformerConfig config;
  config.width = width;
  config.heads = heads;
  config.hidden = 4 * width;
  config.encoder_layers = layers;
  config.decoder_layers = layers;
  config.dropout = dropout;
  return config;
}

// The presets of the Transformer for a kind that extends it.
template <typename Config>
std::vector<std::pair<std::string, Config>> transformer_presets() {
  std::vector<std::pair<std::string, Config>> presets;
  const auto add = [&](const std::string& name, const TransformerConfig& sizes) {
    Config config;
    static_cast<TransformerConfig&>(config) = sizes;
    presets.emplace_back(name, config);
  };
  add("tiny", transformer(128, 4, 2, 0.1F));
  add("small", transformer(256, 4, 3, 0.1F));
  add("base", transformer(512, 8, 6, 0.1F));
  add("big", transformer(1024, 16, 6, 0.3F));
  return presets;
}

// Heads of 64, as all published sizes have them.
GptConfig gpt(int64_t width, int64_t layers) {
  GptConfig config;
  config.width = width;
  config.heads = width / 64;
  config.layers = layers;
  return config;
}

// The sizes of the paper.
CharacterTransformerConfig characters(int64_t layers) {
  CharacterTransformerConfig config;
  config.layers = layers;
  config.hidden_dropout = 0.55F;
  config.attention_dropout = 0.55F;
  return config;
}

BertConfig bert(int64_t width, int64_t layers) {
  BertConfig config;
  config.width = width;
  config.heads = width / 64;
  config.hidden = 4 * width;
  config.layers = layers;
  return config;
}

MusicTransformerConfig music(int64_t width, int64_t heads, int64_t layers) {
  MusicTransformerConfig config;
  config.width = width;
  config.heads = heads;
  config.layers = layers;
  return config;
}

RnnLanguageConfig rnn_language(int64_t hidden) {
  RnnLanguageConfig config;
  config.embedding = hidden;
  config.hidden = hidden;
  return config;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      kind<Transformer, TransformerConfig>("transformer", transformer_presets<TransformerConfig>()),
      kind<ParallelTransformer, ParallelTransformerConfig>(
          "parallel_transformer", transformer_presets<ParallelTransformerConfig>(), "transformer"),
      kind<BlockwiseTransformer, BlockwiseTransformerConfig>(
          "blockwise_transformer", transformer_presets<BlockwiseTransformerConfig>(),
          "transformer"),
      kind<LatentTransformer, LatentTransformerConfig>(
          "latent_transformer", transformer_presets<LatentTransformerConfig>(), "transformer"),
      kind<UniversalTransformer, UniversalTransformerConfig>(
          "universal_transformer", transformer_presets<UniversalTransformerConfig>()),
      kind<Rnn, RnnConfig>("rnn", {{"small", RnnConfig{}}}),
      kind<Bahdanau, BahdanauConfig>("bahdanau", {{"base", BahdanauConfig{}}}),
      kind<ConvS2S, ConvConfig>("conv", {{"small", ConvConfig{}}}),
      kind<Gpt, GptConfig>("gpt2", {{"small", gpt(768, 12)},
                                    {"medium", gpt(1024, 24)},
                                    {"large", gpt(1280, 36)},
                                    {"xl", gpt(1600, 48)}}),
      kind<BlockwiseGpt, BlockwiseGptConfig>("blockwise_gpt2", {{"small", BlockwiseGptConfig{}}},
                                             "gpt2"),
      kind<CharacterTransformer, CharacterTransformerConfig>(
          "character_transformer", {{"t12", characters(12)}, {"t64", characters(64)}}),
      kind<Bert, BertConfig>("bert", {{"tiny", bert(128, 2)},
                                      {"small", bert(512, 4)},
                                      {"base", bert(768, 12)},
                                      {"large", bert(1024, 24)}}),
      kind<RnnEncoder, RnnEncoderConfig>("rnn_encoder", {{"small", RnnEncoderConfig{}}}),
      kind<SelfAttentive, SelfAttentiveConfig>("self_attentive",
                                               {{"small", SelfAttentiveConfig{}}}),
      kind<DecomposableAttention, DecomposableAttentionConfig>(
          "decomposable_attention", {{"small", DecomposableAttentionConfig{}}}),
      kind<MusicTransformer, MusicTransformerConfig>(
          "music_transformer", {{"small", music(256, 4, 4)}, {"base", music(384, 8, 6)}}),
      kind<RnnLanguage, RnnLanguageConfig>(
          "rnn_language", {{"small", rnn_language(512)}, {"base", rnn_language(1024)}}),
      kind<TransformerXl, TransformerXlConfig>("transformer_xl",
                                               {{"small", TransformerXlConfig{}}}),
      kind<UniversalLanguage, UniversalLanguageConfig>("universal_language",
                                                       {{"small", UniversalLanguageConfig{}}}),
      kind<UniversalEncoder, UniversalEncoderConfig>("universal_encoder",
                                                     {{"small", UniversalEncoderConfig{}}}),
      kind<ImageTransformer, ImageTransformerConfig>("image_transformer",
                                                     {{"small", ImageTransformerConfig{}}}),
      kind<BlockwiseImageTransformer, BlockwiseImageTransformerConfig>(
          "blockwise_image_transformer", {{"small", BlockwiseImageTransformerConfig{}}},
          "image_transformer"),
      kind<PixelCnn, PixelCnnConfig>("pixel_cnn", {{"small", PixelCnnConfig{}}}),
      kind<MemoryNetwork, MemoryNetworkConfig>("memory_network",
                                               {{"small", MemoryNetworkConfig{}}}),
      kind<StoryTransformer, StoryTransformerConfig>("story_transformer",
                                                     {{"small", StoryTransformerConfig{}}}),
  };
  return all;
}

const Kind& find_kind(const std::string& name, std::string_view where) {
  std::vector<std::string> names;
  for (const Kind& candidate : kinds()) {
    if (candidate.name == name) {
      return candidate;
    }
    names.push_back(candidate.name);
  }
  config::check_choice(where, "model.kind", name, {.choices = names});
  fail("[{}] model.kind {} is not known", where, name);
}

std::string take_text(Json& object, const char* key, const std::string& otherwise,
                      std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return otherwise;
  }
  if (!found->is_string()) {
    config::wrong_type(where, config::joined("model", key), *found, "a text in quotes");
  }
  std::string text = found->get<std::string>();
  object.erase(key);
  return text;
}

// A configuration taken apart.
struct Named {
  const Kind& kind;
  Json fields;
};
Named named(const Json& model) {
  Json fields = model;
  const std::string name = take_text(fields, "kind", "transformer", "model");
  return {find_kind(name, "model"), std::move(fields)};
}

Json with_kind(const std::string& name, const Json& fields) {
  Json model = Json::object();
  model["kind"] = name;
  model.update(fields);
  return model;
}

Json changed(const Json& model, const Change& change) {
  const Named parts = named(model);
  return with_kind(parts.kind.name, parts.kind.change(parts.fields, change));
}

}  // namespace

Json resolve_model_config(const Json& config, std::string_view where) {
  if (!config.is_object()) {
    config::wrong_type(where, "model", config, "a table");
  }
  Json fields = config;
  const std::string name = take_text(fields, "kind", "transformer", where);
  const std::string preset = take_text(fields, "preset", "", where);
  return with_kind(name, find_kind(name, where).resolve(fields, preset, where));
}

std::unique_ptr<Model> make_model(const Scope& s, const Json& config) {
  const Named parts = named(config);
  return parts.kind.make(s, parts.fields);
}

ModelSpec model_spec(const Json& model) {
  const Named parts = named(model);
  return parts.kind.spec(parts.fields);
}

Json with_vocabularies(const Json& model, const VocabularySizes& sizes) {
  return changed(model, sizes);
}

Json with_heads(const Json& model, const EncoderHeads& heads) { return changed(model, heads); }

Json with_images(const Json& model, const ImageSizes& images) { return changed(model, images); }

Json with_answers(const Json& model, const AnswerSizes& sizes) { return changed(model, sizes); }

Json begun_with(const Json& wanted, const Json& other, std::string_view where) {
  const std::string found = model_spec(other).kind;
  const std::string kind = model_spec(wanted).kind;
  const std::string extended = find_kind(kind, "model").extends;
  check(found == kind || found == extended, "[train] {} is a \"{}\", the recipe needs a \"{}\"{}",
        where, found, kind, extended.empty() ? "" : " or a \"" + extended + "\"");
  // What only training knows is as wanted.
  const auto is_of_training = [](const std::string& key) {
    return key.ends_with("dropout") || key == "random_offset";
  };
  Json result = wanted;
  for (const auto& item : other.items()) {
    if (item.key() != "kind" && result.contains(item.key()) && !is_of_training(item.key())) {
      result[item.key()] = item.value();
    }
  }
  return result;
}

std::vector<ModelHelp> describe_models() {
  std::vector<ModelHelp> help;
  for (const Kind& kind : kinds()) {
    help.push_back({kind.name, kind.presets, kind.fields()});
  }
  return help;
}

}  // namespace heed
