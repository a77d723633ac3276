#include "models/imports/huggingface.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/error.h"

namespace heed {
namespace {

struct Rule {
  std::string_view ours;
  std::string_view theirs;
  bool transposed = false;
  bool outside = false;  // not under the prefix
};

// "#" stands for the number of the layer. A suffix .weight or .bias is kept.
constexpr std::array kGptRules{
    Rule{"tokens", "wte"},
    Rule{"positions", "wpe"},
    Rule{"norm", "ln_f"},
    Rule{"layers.#.norm1", "h.#.ln_1"},
    Rule{"layers.#.norm3", "h.#.ln_2"},
    Rule{"layers.#.self_attention.qkv", "h.#.attn.c_attn", true},
    Rule{"layers.#.self_attention.out", "h.#.attn.c_proj", true},
    Rule{"layers.#.feed_forward.linear1", "h.#.mlp.c_fc", true},
    Rule{"layers.#.feed_forward.linear2", "h.#.mlp.c_proj", true},
    Rule{"output", "lm_head", false, true},
};

constexpr std::array kBertRules{
    Rule{"tokens", "embeddings.word_embeddings"},
    Rule{"positions", "embeddings.position_embeddings"},
    Rule{"types", "embeddings.token_type_embeddings"},
    Rule{"norm", "embeddings.LayerNorm"},
    Rule{"layers.#.norm1", "encoder.layer.#.attention.output.LayerNorm"},
    Rule{"layers.#.norm3", "encoder.layer.#.output.LayerNorm"},
    Rule{"layers.#.self_attention.qkv", "encoder.layer.#.attention.self."},
    Rule{"layers.#.self_attention.out", "encoder.layer.#.attention.output.dense"},
    Rule{"layers.#.feed_forward.linear1", "encoder.layer.#.intermediate.dense"},
    Rule{"layers.#.feed_forward.linear2", "encoder.layer.#.output.dense"},
    Rule{"pooler", "pooler.dense"},
    Rule{"masked.transform", "cls.predictions.transform.dense", false, true},
    Rule{"masked.norm", "cls.predictions.transform.LayerNorm", false, true},
    Rule{"masked", "cls.predictions", false, true},
    Rule{"next", "cls.seq_relationship", false, true},
    Rule{"classes", "classifier", false, true},
};

// A kind that extends GPT-2 has its names; what it adds has names of its own.
bool has_gpt_names(std::string_view kind) { return kind == "gpt2" || kind == "blockwise_gpt2"; }

std::string prefix_of(std::string_view kind) {
  return has_gpt_names(kind) ? "transformer." : kind == "bert" ? "bert." : "";
}

std::span<const Rule> rules_of(std::string_view kind) {
  return has_gpt_names(kind) ? std::span<const Rule>(kGptRules)
         : kind == "bert"    ? std::span<const Rule>(kBertRules)
                             : std::span<const Rule>();
}

// The number in the place of "#", or nothing if the name is not of this form.
std::optional<std::string> match(std::string_view pattern, std::string_view name) {
  const size_t hash = pattern.find('#');
  if (hash == std::string_view::npos) {
    return name == pattern ? std::optional(std::string()) : std::nullopt;
  }
  const std::string_view tail = pattern.substr(hash + 1);
  if (name.size() <= hash + tail.size() || name.substr(0, hash) != pattern.substr(0, hash) ||
      !name.ends_with(tail)) {
    return std::nullopt;
  }
  const std::string_view number = name.substr(hash, name.size() - tail.size() - hash);
  const bool digits = number.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? std::optional(std::string(number)) : std::nullopt;
}

std::string with_number(std::string_view pattern, const std::string& number) {
  std::string name(pattern);
  if (const size_t hash = name.find('#'); hash != std::string::npos) {
    name.replace(hash, 1, number);
  }
  return name;
}

}  // namespace

NameStyle style_of(std::string_view kind, const TensorFiles& files) {
  const std::string prefix = prefix_of(kind);
  NameStyle style{.prefix = prefix.empty()};
  for (const TensorEntry* entry : files.entries()) {
    style.prefix = style.prefix || entry->name.starts_with(prefix);
    style.gamma_beta =
        style.gamma_beta || (kind == "bert" && entry->name.ends_with("LayerNorm.gamma"));
  }
  return style;
}

StoredNames::StoredNames(std::string_view kind, const NameStyle& style)
    : kind_(kind), style_(style) {}

std::vector<StoredPart> StoredNames::parts(std::string_view parameter) const {
  const size_t dot = parameter.rfind('.');
  const std::string_view layer = parameter.substr(0, dot);
  std::string suffix(dot == std::string_view::npos ? "" : parameter.substr(dot));
  for (const Rule& rule : rules_of(kind_)) {
    const std::optional<std::string> number = match(rule.ours, layer);
    if (!number) {
      continue;
    }
    const std::string name = (rule.outside || !style_.prefix ? "" : prefix_of(kind_)) +
                             with_number(rule.theirs, *number);
    if (style_.gamma_beta && name.ends_with("LayerNorm")) {
      suffix = suffix == ".weight" ? ".gamma" : ".beta";
    }
    if (name.ends_with('.')) {  // one matrix here, three there
      return {{fmt::format("{}query{}", name, suffix)},
              {fmt::format("{}key{}", name, suffix)},
              {fmt::format("{}value{}", name, suffix)}};
    }
    return {{name + suffix, rule.transposed && suffix == ".weight"}};
  }
  return {{std::string(parameter)}};
}

bool StoredNames::ignored(std::string_view tensor) const {
  if (has_gpt_names(kind_)) {
    return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias") ||
           tensor == "lm_head.weight";
  }
  return kind_ == "bert" &&
         (tensor.ends_with("embeddings.position_ids") ||
          tensor == "cls.predictions.decoder.weight" || tensor == "cls.predictions.decoder.bias");
}

bool StoredNames::head(std::string_view tensor) const {
  return kind_ == "bert" && (tensor.starts_with("cls.") || tensor.starts_with("classifier.") ||
                             tensor.find("pooler.dense.") != std::string_view::npos);
}

bool is_huggingface(const Json& config) {
  return config.is_object() && config.contains("model_type");
}

namespace {

// One configuration's keys with their types checked.
class Keys {
 public:
  Keys(const Json& config, const std::string& where) : config_(config), where_(where) {}

  bool has(const char* key) const { return config_.contains(key) && !config_[key].is_null(); }

  int64_t number(const char* key, int64_t otherwise) const {
    if (!has(key)) {
      return otherwise;
    }
    if (!config_[key].is_number_integer()) {
      config::wrong_type(where_, key, config_[key], "a whole number");
    }
    return config_[key].get<int64_t>();
  }
  double real(const char* key, double otherwise) const {
    if (has(key) && !config_[key].is_number()) {
      config::wrong_type(where_, key, config_[key], "a number");
    }
    return has(key) ? config_[key].get<double>() : otherwise;
  }
  bool flag(const char* key, bool otherwise) const {
    if (has(key) && !config_[key].is_boolean()) {
      config::wrong_type(where_, key, config_[key], "true or false");
    }
    return has(key) ? config_[key].get<bool>() : otherwise;
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (has(key) && !config_[key].is_string()) {
      config::wrong_type(where_, key, config_[key], "a text");
    }
    return has(key) ? config_[key].get<std::string>() : otherwise;
  }
  // Keys that change the model in ways that are not done here.
  void expect(const char* key, const Json& value) const {
    check(!has(key) || config_[key] == value, "[{}] {} is {}, Heed supports only {}", where_, key,
          has(key) ? config_[key].dump() : "", value.dump());
  }
  // The class that wrote the folder, by which heads of the same names are told apart; "": not said.
  std::string architecture() const {
    if (!has("architectures") || config_["architectures"].empty()) {
      return "";
    }
    const Json& list = config_["architectures"];
    if (!list.is_array() || !list.front().is_string()) {
      config::wrong_type(where_, "architectures", list, "a list of names");
    }
    return list.front().get<std::string>();
  }
  int64_t labels() const {
    return has("id2label") && config_["id2label"].is_object()
               ? static_cast<int64_t>(config_["id2label"].size())
               : number("num_labels", 2);
  }

  const std::string& where() const { return where_; }

 private:
  const Json& config_;
  const std::string& where_;
};

std::string activation_from(const Keys& keys, const char* key, const std::string& otherwise) {
  std::string name = keys.text(key, otherwise);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") {
    return "gelu_tanh";
  }
  check(name == "gelu" || name == "relu", "[{}] {} is {}, Heed supports gelu, gelu_new and relu",
        keys.where(), key, name);
  return name;
}

std::string activation_to(const std::string& name) {
  return name == "gelu_tanh" ? "gelu_new" : name;
}

Json gpt_from(const Keys& keys) {
  keys.expect("scale_attn_weights", true);
  keys.expect("scale_attn_by_inverse_layer_idx", false);
  keys.expect("add_cross_attention", false);
  const double dropout = keys.real("resid_pdrop", 0.1);
  return {{"kind", "gpt2"},
          {"vocabulary", keys.number("vocab_size", 50257)},
          {"context", keys.number("n_positions", keys.number("n_ctx", 1024))},
          {"width", keys.number("n_embd", 768)},
          {"heads", keys.number("n_head", 12)},
          {"layers", keys.number("n_layer", 12)},
          {"hidden", keys.number("n_inner", 0)},
          {"dropout", dropout},
          {"embedding_dropout", keys.real("embd_pdrop", dropout)},
          {"attention_dropout", keys.real("attn_pdrop", dropout)},
          {"activation", activation_from(keys, "activation_function", "gelu_new")},
          {"epsilon", keys.real("layer_norm_epsilon", 1e-5)},
          {"initializer_range", keys.real("initializer_range", 0.02)},
          {"tied_output", keys.flag("tie_word_embeddings", true)}};
}

// Others have heads that are not done here, some under the names of those that are.
void check_bert_architecture(const Keys& keys) {
  constexpr std::array kKnown{"BertModel", "BertForMaskedLM", "BertForNextSentencePrediction",
                              "BertForPreTraining", "BertForSequenceClassification"};
  const std::string name = keys.architecture();
  check(name.empty() || std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end(),
        "[{}] architectures says {}, Heed supports {}", keys.where(), name,
        fmt::join(kKnown, ", "));
}

Json bert_from(const Keys& keys, const std::function<bool(std::string_view)>& has) {
  check_bert_architecture(keys);
  keys.expect("position_embedding_type", "absolute");
  keys.expect("is_decoder", false);
  keys.expect("add_cross_attention", false);
  const bool masked_head = has("cls.predictions.bias");
  if (masked_head) {
    keys.expect("tie_word_embeddings", true);
  }
  const double dropout = keys.real("hidden_dropout_prob", 0.1);
  const bool classes = has("classifier.weight");
  return {{"kind", "bert"},
          {"vocabulary", keys.number("vocab_size", 30522)},
          {"longest", keys.number("max_position_embeddings", 512)},
          {"types", keys.number("type_vocab_size", 2)},
          {"width", keys.number("hidden_size", 768)},
          {"heads", keys.number("num_attention_heads", 12)},
          {"layers", keys.number("num_hidden_layers", 12)},
          {"hidden", keys.number("intermediate_size", 3072)},
          {"dropout", dropout},
          {"attention_dropout", keys.real("attention_probs_dropout_prob", 0.1)},
          {"head_dropout", keys.real("classifier_dropout", dropout)},
          {"activation", activation_from(keys, "hidden_act", "gelu")},
          {"epsilon", keys.real("layer_norm_eps", 1e-12)},
          {"initializer_range", keys.real("initializer_range", 0.02)},
          {"pooler", has("pooler.dense.weight") || has("bert.pooler.dense.weight")},
          {"masked_head", masked_head},
          {"next_head", has("cls.seq_relationship.weight")},
          {"labels", classes ? keys.labels() : 0}};
}

Json gpt_to(const Json& model) {
  const int64_t hidden = model.at("hidden");
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", model.at("vocabulary")},
          {"n_positions", model.at("context")},
          {"n_ctx", model.at("context")},
          {"n_embd", model.at("width")},
          {"n_head", model.at("heads")},
          {"n_layer", model.at("layers")},
          {"n_inner", hidden > 0 ? Json(hidden) : Json()},
          {"resid_pdrop", model.at("dropout")},
          {"embd_pdrop", model.at("embedding_dropout")},
          {"attn_pdrop", model.at("attention_dropout")},
          {"activation_function", activation_to(model.at("activation"))},
          {"layer_norm_epsilon", model.at("epsilon")},
          {"initializer_range", model.at("initializer_range")},
          {"tie_word_embeddings", model.at("tied_output")}};
}

const char* architecture_of(const Json& bert) {
  if (bert.at("labels").get<int64_t>() > 0) {
    return "BertForSequenceClassification";
  }
  if (bert.at("masked_head").get<bool>()) {
    return bert.at("next_head").get<bool>() ? "BertForPreTraining" : "BertForMaskedLM";
  }
  return "BertModel";
}

Json bert_to(const Json& model) {
  Json json{{"architectures", {architecture_of(model)}},
            {"model_type", "bert"},
            {"vocab_size", model.at("vocabulary")},
            {"max_position_embeddings", model.at("longest")},
            {"type_vocab_size", model.at("types")},
            {"hidden_size", model.at("width")},
            {"num_attention_heads", model.at("heads")},
            {"num_hidden_layers", model.at("layers")},
            {"intermediate_size", model.at("hidden")},
            {"hidden_dropout_prob", model.at("dropout")},
            {"attention_probs_dropout_prob", model.at("attention_dropout")},
            {"classifier_dropout", model.at("head_dropout")},
            {"hidden_act", activation_to(model.at("activation"))},
            {"layer_norm_eps", model.at("epsilon")},
            {"initializer_range", model.at("initializer_range")},
            {"position_embedding_type", "absolute"}};
  if (const int64_t labels = model.at("labels"); labels > 0) {
    json["num_labels"] = labels;
  }
  return json;
}

}  // namespace

Json from_huggingface(const Json& config, const std::function<bool(std::string_view)>& has,
                      const std::string& where) {
  const Keys keys(config, where);
  const std::string type = keys.text("model_type", "");
  check(type == "gpt2" || type == "bert", "[{}] model_type is {}, Heed supports gpt2 and bert",
        where, type);
  return type == "gpt2" ? gpt_from(keys) : bert_from(keys, has);
}

Json to_huggingface(const Json& model) {
  const std::string kind = model.value("kind", "");
  if (kind == "gpt2" &&
      (!model.value("attention", "").empty() || !model.value("cutoffs", Json::array()).empty())) {
    return Json::object();  // their GPT-2 has full attention and one width only
  }
  return kind == "gpt2" ? gpt_to(model) : kind == "bert" ? bert_to(model) : Json::object();
}

}  // namespace heed
