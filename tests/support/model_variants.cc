#include "support/model_variants.h"

#include "models/answering/answering_model.h"
#include "models/images/blockwise_image_transformer.h"
#include "models/language/blockwise_gpt.h"
#include "models/language/character_transformer.h"
#include "models/registry.h"
#include "models/translation/blockwise_transformer.h"
#include "ops/loss/cross_entropy.h"
#include "ops/pointwise.h"
#include "support/language_check.h"

namespace heed::testing {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kSteps = 9;

// The smallest form of each kind, and what each of its options adds.
struct Family {
  Json base;
  std::vector<ModelVariant> options;
};

Family transformer_family() {
  return {
      {{"kind", "transformer"},
       {"vocabulary", 20},
       {"width", 16},
       {"heads", 2},
       {"hidden", 24},
       {"encoder_layers", 2},
       {"decoder_layers", 2}},
      {{"plain", {}},
       {"learned", {{"positions", "learned"}, {"longest", 12}}},
       {"learned_apart", {{"positions", "learned"}, {"longest", 12}, {"source_vocabulary", 20}}},
       {"relative", {{"positions", "relative"}, {"relative_distance", 2}}},
       {"pre_norm", {{"pre_norm", true}}},
       {"no_final_norm", {{"final_norm", false}}},
       {"no_residual", {{"residual", false}}},
       {"output", {{"tied_output", false}, {"output_bias", true}}},
       {"output_bias", {{"output_bias", true}}}}};
}

Family parallel_family() {
  Family family = transformer_family();
  family.base["kind"] = "parallel_transformer";
  family.options = {{"masked", {{"input", "masked"}}},
                    {"copied", {{"input", "copied"}, {"source_vocabulary", 20}}},
                    {"refined", {{"input", "refined"}}},
                    {"fertile", {{"input", "copied"}, {"fertilities", 4}}}};
  return family;
}

Family blockwise_family() {
  Json base = transformer_family().base;
  base.update({{"kind", "blockwise_transformer"}, {"block", 3}});
  return {base, {{"plain", {}}, {"narrow", {{"block_hidden", 8}}}}};
}

Family latent_family() {
  Family family = transformer_family();
  family.base.update({{"kind", "latent_transformer"}, {"shorten", 4}, {"codes", 8}});
  family.options = {
      {"plain", {}},
      {"slices", {{"slices", 2}}},
      {"pre_norm", {{"pre_norm", true}, {"shorten", 2}, {"predictor_layers", 1}}},
      {"learned_apart", {{"positions", "learned"}, {"longest", 12}, {"source_vocabulary", 20}}},
      {"quantiser", {{"bottleneck", "vector_quantiser"}, {"slices", 2}}},
      {"projected", {{"bottleneck", "vector_quantiser"}, {"slices", 2}, {"projected", true}}},
      {"gumbel", {{"bottleneck", "gumbel_softmax"}, {"slices", 2}}}};
  return family;
}

Family universal_family() {
  Family family = transformer_family();
  family.base.update({{"kind", "universal_transformer"}, {"encoder_layers", 3}});
  family.options = {
      {"halting", {}},
      {"fixed", {{"halting", false}}},
      {"offset", {{"random_offset", 30}}},
      {"separable", {{"transition", "separable_convolution"}}},
      {"pre_norm", {{"pre_norm", true}}},
      {"learned", {{"positions", "learned"}, {"longest", 12}}},
      {"apart", {{"source_vocabulary", 20}, {"tied_output", false}, {"output_bias", true}}}};
  return family;
}

// The options that the language model and the encoder share.
std::vector<ModelVariant> universal_options() {
  return {{"halting", {}},
          {"fixed", {{"halting", false}}},
          {"separable", {{"transition", "separable_convolution"}, {"transition_kernel", 4}}},
          {"post_norm", {{"pre_norm", false}}},
          {"learned", {{"positions", "learned"}}},
          {"relative", {{"positions", "relative"}, {"relative_distance", 2}}}};
}

Family universal_language_family() {
  Family family{{{"kind", "universal_language"},
                 {"vocabulary", 20},
                 {"context", 9},
                 {"width", 16},
                 {"heads", 2},
                 {"steps", 3},
                 {"hidden", 24}},
                universal_options()};
  family.options.push_back({"output", {{"tied_output", false}}});
  return family;
}

Family universal_encoder_family() {
  Family family = universal_language_family();
  family.base.erase("context");
  family.base.update({{"kind", "universal_encoder"}, {"longest", 9}});
  family.options = universal_options();
  family.options.push_back({"masked", {{"masked_head", true}, {"next_head", true}}});
  family.options.push_back({"classes", {{"labels", 3}}});
  family.options.push_back({"no_pooler", {{"pooler", false}}});
  return family;
}

Family rnn_family() {
  return {{{"kind", "rnn"},
           {"vocabulary", 20},
           {"embedding", 12},
           {"hidden", 12},
           {"attention_width", 12}},
          {{"plain", {}},
           {"gru", {{"cell", "gru"}}},
           {"apart", {{"source_vocabulary", 20}, {"tied_output", false}}},
           {"layers", {{"encoder_layers", 2}, {"decoder_layers", 3}}},
           {"one_way", {{"bidirectional", false}}},
           {"no_attention", {{"attention", false}}}}};
}

Family bahdanau_family() {
  return {
      {{"kind", "bahdanau"},
       {"vocabulary", 20},
       {"embedding", 12},
       {"hidden", 12},
       {"attention_width", 12},
       {"maxout", 12}},
      {{"plain", {}}, {"tied", {{"tied_output", true}}}, {"apart", {{"source_vocabulary", 20}}}}};
}

Family conv_family() {
  return {{{"kind", "conv"},
           {"vocabulary", 20},
           {"embedding", 12},
           {"hidden", 12},
           {"encoder_layers", 2},
           {"decoder_layers", 2},
           {"longest", 12}},
          {{"plain", {}}, {"apart", {{"source_vocabulary", 20}, {"tied_output", false}}}}};
}

Family gpt_family() {
  return {{{"kind", "gpt2"},
           {"vocabulary", 20},
           {"context", 12},
           {"width", 16},
           {"heads", 2},
           {"layers", 2}},
          {{"plain", {}},
           {"local_and_compressed", {{"attention", "LM"}, {"window", 4}}},
           {"bands", {{"cutoffs", {4, 9}}, {"shrink", 2}}},
           {"output", {{"tied_output", false}}}}};
}

Family blockwise_gpt_family() {
  Json base = gpt_family().base;
  base.update({{"kind", "blockwise_gpt2"}, {"block", 3}});
  return {base, {{"plain", {}}}};
}

Family character_family() {
  Json base = gpt_family().base;
  base.update({{"kind", "character_transformer"}, {"layers", 3}});
  return {base,
          {{"plain", {}},
           {"post_norm", {{"pre_norm", false}}},
           {"one_loss", {{"intermediate_losses", false}, {"targets", 1}}},
           {"first_positions", {{"layer_positions", false}, {"targets", 3}}}}};
}

Family bert_family() {
  return {{{"kind", "bert"},
           {"vocabulary", 20},
           {"longest", 12},
           {"width", 16},
           {"heads", 2},
           {"layers", 2},
           {"hidden", 24}},
          {{"plain", {}},
           {"no_pooler", {{"pooler", false}}},
           {"masked", {{"masked_head", true}, {"next_head", true}}},
           {"classes", {{"labels", 3}}}}};
}

Family rnn_encoder_family() {
  return {{{"kind", "rnn_encoder"}, {"vocabulary", 20}, {"embedding", 12}, {"hidden", 12}},
          {{"plain", {}},
           {"classes", {{"labels", 3}}},
           {"gru", {{"cell", "gru"}, {"layers", 2}}},
           {"one_way", {{"bidirectional", false}}}}};
}

Family decomposable_family() {
  return {
      {{"kind", "decomposable_attention"}, {"vocabulary", 20}, {"embedding", 12}, {"hidden", 12}},
      {{"plain", {}},
       {"classes", {{"labels", 3}}},
       {"intra", {{"intra_attention", true}, {"distances", 2}, {"labels", 3}}}}};
}

Family self_attentive_family() {
  return {{{"kind", "self_attentive"}, {"vocabulary", 20}, {"embedding", 12}, {"hidden", 12}},
          {{"plain", {}},
           {"classes", {{"labels", 3}, {"layers", 2}}},
           {"no_layer_between", {{"labels", 3}, {"classes_hidden", 0}}}}};
}

Family music_family() {
  return {{{"kind", "music_transformer"},
           {"vocabulary", 20},
           {"width", 16},
           {"heads", 2},
           {"layers", 2},
           {"hidden", 24},
           {"relative_distance", 4}},
          {{"plain", {}},
           {"sinusoidal", {{"positions", "sinusoidal"}, {"relative_distance", 0}}},
           {"shared", {{"relative_per_head", false}}},
           {"cycles", {{"cycles", {2, 3}}}},
           {"pitches", {{"pitch_distance", 5}, {"vocabulary", 144}}},
           {"output", {{"tied_output", false}}}}};
}

Family rnn_language_family() {
  return {{{"kind", "rnn_language"}, {"vocabulary", 20}, {"embedding", 12}, {"hidden", 12}},
          {{"plain", {}}, {"gru", {{"cell", "gru"}}}, {"tied", {{"tied_output", true}}}}};
}

Family transformer_xl_family() {
  return {{{"kind", "transformer_xl"},
           {"vocabulary", 20},
           {"memory", 5},
           {"width", 16},
           {"heads", 2},
           {"layers", 2},
           {"hidden", 24}},
          {{"plain", {}},
           {"distances", {{"most_distance", 3}}},
           {"words", {{"word_dropout", 0.1}, {"embedding_dropout", 0.1}}},
           {"bands", {{"cutoffs", {4, 9}}, {"shrink", 2}}},
           {"bands_apart", {{"cutoffs", {7}}, {"tied_output", false}}},
           {"output", {{"tied_output", false}}}}};
}

Family image_family() {
  return {{{"kind", "image_transformer"},
           {"rows", 4},
           {"columns", 6},
           {"channels", 2},
           {"levels", 5},
           {"width", 16},
           {"heads", 2},
           {"layers", 2},
           {"hidden", 24},
           {"block_rows", 2},
           {"block_columns", 3}},
          {{"plain", {}},
           {"full", {{"attention", "full"}}},
           {"local1d", {{"attention", "local1d"}, {"block", 6}, {"memory", 9}}},
           {"classes", {{"classes", 3}}},
           {"enlarges", {{"source_rows", 2}, {"source_columns", 3}, {"encoder_layers", 2}}},
           {"neighbours", {{"neighbours", 2}}},
           {"mixture", {{"output", "mixture"}, {"mixtures", 3}, {"neighbours", 2}}}}};
}

Family blockwise_image_family() {
  Json base = image_family().base;
  base.update({{"kind", "blockwise_image_transformer"}, {"proposals", 3}});
  return {base, {{"enlarges", {{"source_rows", 2}, {"source_columns", 3}, {"encoder_layers", 2}}}}};
}

Family pixel_cnn_family() {
  return {{{"kind", "pixel_cnn"},
           {"rows", 4},
           {"columns", 6},
           {"channels", 2},
           {"levels", 5},
           {"width", 8},
           {"layers", 2},
           {"kernel", 3}},
          {{"plain", {}},
           {"classes", {{"classes", 3}}},
           {"non_local", {{"non_local", 1}}},
           {"mixture", {{"output", "mixture"}, {"mixtures", 3}}}}};
}

Family memory_network_family() {
  return {{{"kind", "memory_network"},
           {"vocabulary", 20},
           {"answers", 5},
           {"width", 12},
           {"memory", 8},
           {"sentence", 6}},
          {{"plain", {}},
           {"layerwise", {{"tying", "layerwise"}}},
           {"bag", {{"order", "bag"}, {"hops", 1}}},
           {"learned", {{"order", "learned"}}}}};
}

Family story_family() {
  return {{{"kind", "story_transformer"},
           {"vocabulary", 20},
           {"answers", 5},
           {"width", 12},
           {"heads", 2},
           {"hidden", 24},
           {"layers", 3},
           {"sentence", 6}},
          {{"halting", {}},
           {"fixed", {{"halting", false}}},
           {"pre_norm", {{"pre_norm", true}}},
           {"layers", {{"universal", false}}}}};
}

}  // namespace

std::vector<ModelVariant> model_variants() {
  std::vector<ModelVariant> all;
  for (const Family& family : {transformer_family(),
                               parallel_family(),
                               blockwise_family(),
                               latent_family(),
                               universal_family(),
                               universal_language_family(),
                               universal_encoder_family(),
                               rnn_family(),
                               bahdanau_family(),
                               conv_family(),
                               gpt_family(),
                               blockwise_gpt_family(),
                               character_family(),
                               bert_family(),
                               rnn_encoder_family(),
                               decomposable_family(),
                               self_attentive_family(),
                               music_family(),
                               rnn_language_family(),
                               transformer_xl_family(),
                               image_family(),
                               blockwise_image_family(),
                               pixel_cnn_family(),
                               memory_network_family(),
                               story_family()}) {
    for (const ModelVariant& option : family.options) {
      Json config = family.base;
      config.update(option.config.is_null() ? Json::object() : option.config);
      all.push_back({config["kind"].get<std::string>() + "_" + option.name, config});
    }
  }
  return all;
}

namespace {

Tensor ints(int64_t below, const Shape& shape) {
  return Tensor::from_ints(noise_tokens(shape.size(), below), shape);
}
Tensor lengths() { return Tensor::from_ints(std::vector<int32_t>{9, 4, 7}, {kRows}); }

Tensor loss_of(const Seq2SeqModel& model) {
  const int64_t vocabulary = model.target_vocabulary();
  const Tensor tokens = ints(vocabulary, {kRows, kSteps});
  const Tensor targets = ints(vocabulary - 1, {kRows, kSteps});
  Batch batch;
  batch.source = tokens;
  batch.source_lengths = lengths();
  batch.input = tokens;
  batch.target_lengths = lengths();
  Tensor loss = cross_entropy(model.logits(batch), targets);
  if (const auto* blockwise = dynamic_cast<const BlockwiseTransformer*>(&model)) {
    const Tensor hidden = blockwise->hidden(batch);
    for (int64_t head = 2; head <= blockwise->block(); ++head) {
      loss = add(loss, cross_entropy(blockwise->propose(hidden, head), targets));
    }
  }
  return loss;
}

// Lengths and, if there are any, fertilities are learned too. Copies come from the source's
// vectors, and the target's embedding is then the output projection alone.
Tensor loss_of(const ParallelModel& model) {
  const Tensor tokens = ints(model.target_vocabulary() - 1, {kRows, kSteps});
  const auto state = model.start(tokens, lengths());
  const bool masked = model.input() == ParallelModel::Input::masked;
  const Tensor logits = model.pass({.tokens = masked ? tokens : Tensor(),
                                    .copied = masked ? Tensor() : ints(4, {kRows, kSteps}),
                                    .lengths = lengths()},
                                   *state);
  Tensor loss =
      add(cross_entropy(logits, tokens),
          cross_entropy(model.length_logits(*state), ints(2 * model.length_range() + 1, {kRows})));
  if (const int64_t choices = model.fertilities(); choices > 0) {
    loss = add(loss, cross_entropy(model.fertility_logits(*state), ints(choices, {kRows, kSteps})));
  }
  return loss;
}

Tensor loss_of(const LatentModel& model) {
  const int64_t vocabulary = model.target_vocabulary();
  Batch batch;
  batch.source = ints(vocabulary, {kRows, kSteps});
  batch.source_lengths = lengths();
  batch.target = ints(vocabulary - 1, {kRows, kSteps});
  batch.target_lengths = lengths();
  const LatentModel::Taught taught = model.teach(batch, {.predicted = 0.5F});
  const Tensor loss = add(cross_entropy(taught.logits, batch.target),
                          cross_entropy(taught.code_logits, taught.code_targets));
  return taught.latents.penalty.defined() ? add(loss, taught.latents.penalty) : loss;
}

Tensor loss_of(const LanguageModel& model) {
  const int64_t vocabulary = model.vocabulary();
  const Tensor tokens = ints(vocabulary, {kRows, kSteps});
  const Tensor targets = ints(vocabulary - 1, {kRows, kSteps});
  Tensor loss = cross_entropy(model.logits(tokens), targets);
  if (const auto* blockwise = dynamic_cast<const BlockwiseGpt*>(&model)) {
    for (int64_t head = 2; head <= blockwise->block(); ++head) {
      loss = add(loss, cross_entropy(blockwise->propose(blockwise->hidden(tokens), head), targets));
    }
  }
  if (const auto* deep = dynamic_cast<const CharacterTransformer*>(&model)) {
    const std::vector<Tensor> vectors = deep->layer_vectors(tokens, 0);
    int64_t layer = deep->layers() - std::ssize(vectors);
    for (const Tensor& x : vectors) {
      for (int64_t ahead = 0; ahead < deep->targets(); ++ahead) {
        loss = add(loss, cross_entropy(deep->predict(x, layer, ahead), targets));
      }
      ++layer;
    }
  }
  return loss;
}

// All heads that there are; without any, the summary stands for one.
Tensor loss_of(const TextEncoder& model, const Json& config) {
  const TextBatch batch{.tokens = ints(model.vocabulary(), {kRows, kSteps}),
                        .types = ints(2, {kRows, kSteps}),
                        .lengths = lengths()};
  const Tensor hidden = model.hidden(batch);
  if (config.value("masked_head", false)) {
    const auto& masked = dynamic_cast<const MaskedModel&>(model);
    const Tensor places = Tensor::from_ints(std::vector<int32_t>{1, 10, 19}, {3});
    return add(cross_entropy(masked.words(hidden, places), ints(model.vocabulary(), {3})),
               cross_entropy(masked.follows(hidden, batch), ints(2, {kRows})));
  }
  if (model.labels() > 0) {
    return cross_entropy(model.classes(batch), ints(model.labels(), {kRows}));
  }
  return cross_entropy(model.summary(hidden, batch), ints(model.width(), {kRows}));
}

Tensor loss_of(const ImageModel& model) {
  const ImageLayout layout = model.layout();
  const Tensor values = ints(layout.levels, {kRows, layout.samples()});
  ImageBatch batch{.values = values, .classes = {}, .source = {}};
  if (model.classes() > 0) {
    batch.classes = ints(model.classes(), {kRows});
  }
  if (model.source().rows > 0) {
    batch.source = ints(layout.levels, {kRows, model.source().samples()});
  }
  Tensor loss = model.loss(model.outputs(batch), values, Reduction::mean);
  if (const auto* blockwise = dynamic_cast<const BlockwiseImageTransformer*>(&model)) {
    for (int64_t head = 2; head <= blockwise->block(); ++head) {
      loss = add(loss, cross_entropy(blockwise->propose(blockwise->hidden(batch), head), values));
    }
  }
  return loss;
}

// Sentences of six words, so that every place of a word counts; stories of nine sentences.
Tensor loss_of(const AnsweringModel& model) {
  const Tensor words = ints(19, {30, 6});
  for (int32_t& word : words.span<int32_t>()) {
    ++word;  // 0 would be padding
  }
  const StoryBatch batch{
      .words = words, .stories = ints(30, {kRows, kSteps}), .lengths = lengths()};
  return cross_entropy(model.answers(batch), ints(5, {kRows}));
}

}  // namespace

Tensor variant_loss(const Model& model, const Json& config) {
  if (const auto* translator = dynamic_cast<const Seq2SeqModel*>(&model)) {
    return loss_of(*translator);
  }
  if (const auto* parallel = dynamic_cast<const ParallelModel*>(&model)) {
    return loss_of(*parallel);
  }
  if (const auto* latent = dynamic_cast<const LatentModel*>(&model)) {
    return loss_of(*latent);
  }
  if (const auto* language = dynamic_cast<const LanguageModel*>(&model)) {
    return loss_of(*language);
  }
  if (const auto* encoder = dynamic_cast<const TextEncoder*>(&model)) {
    return loss_of(*encoder, config);
  }
  if (const auto* answering = dynamic_cast<const AnsweringModel*>(&model)) {
    return loss_of(*answering);
  }
  return loss_of(dynamic_cast<const ImageModel&>(model));
}

}  // namespace heed::testing
