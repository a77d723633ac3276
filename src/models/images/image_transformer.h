// Image Transformer (Parmar et al. 2018): a decoder over the samples of an image, one channel of a
// pixel a step, with attention to a part of what came before. With a class, or with an encoder that
// reads a small image, it draws what it is told to.
#pragma once

#include <optional>

#include "base/config.h"
#include "models/images/image_order.h"
#include "models/images/image_output.h"
#include "nn/transformer.h"

namespace heed {

struct ImageTransformerConfig {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 0;
  int64_t levels = 0;
  int64_t classes = 0;
  int64_t source_rows = 0;
  int64_t source_columns = 0;
  int64_t encoder_layers = 4;
  int64_t width = 128;
  int64_t heads = 4;
  int64_t layers = 6;
  int64_t hidden = 512;
  float dropout = 0.1F;
  std::string attention = "local2d";
  int64_t block = 196;
  int64_t memory = 196;
  int64_t block_rows = 7;
  int64_t block_columns = 14;
  int64_t memory_rows = 7;
  int64_t memory_columns = 7;
  int64_t neighbours = 0;
  std::string output = "categorical";
  int64_t mixtures = 10;
  float epsilon = 1e-5F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("rows", rows, "height of an image in pixels; 0: as in the data", {.least = 0, .most = 4096});
    v("columns", columns, "width of an image in pixels; 0: as in the data",
      {.least = 0, .most = 4096});
    v("channels", channels, "channels of a pixel; 0: as in the data", {.least = 0, .most = 4});
    v("levels", levels, "levels of a sample; 0: as in the data", {.least = 0, .most = 65536});
    v("classes", classes, "number of classes to condition on; 0: none",
      {.least = 0, .most = 1 << 20});
    v("source_rows", source_rows, "height of the small images to enlarge; 0: no encoder",
      {.least = 0, .most = 4096});
    v("source_columns", source_columns, "width of the small images", {.least = 0, .most = 4096});
    v("encoder_layers", encoder_layers, "layers of the encoder of small images",
      {.least = 1, .most = 1000});
    v("width", width, "size of a sample's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer", {.least = 1, .most = 1 << 20});
    v("dropout", dropout, "dropout of embeddings and of each branch before it is added",
      {.least = 0, .most = 0.99});
    v("attention", attention, "which of the earlier samples a sample attends to",
      {.choices = {"full", "local1d", "local2d"}});
    v("block", block, "local1d: samples per block; they share a memory", {.least = 1});
    v("memory", memory, "local1d: samples before a block that it attends to", {.least = 0});
    v("block_rows", block_rows, "local2d: height of a block in pixels; its samples share a memory",
      {.least = 1});
    v("block_columns", block_columns, "local2d: width of a block in pixels", {.least = 1});
    v("memory_rows", memory_rows, "local2d: rows above a block that it attends to", {.least = 0});
    v("memory_columns", memory_columns,
      "local2d: columns to each side of a block that it attends to", {.least = 0});
    v("neighbours", neighbours,
      "add the levels of known pixels up to this many rows and columns away to the input; 0: only "
      "the previous sample",
      {.least = 0, .most = 16});
    v("output", output, "form of a sample's distribution", {.choices = {"categorical", "mixture"}});
    v("mixtures", mixtures, "number of logistic distributions in a mixture",
      {.least = 1, .most = 100});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
  }
};

class ImageTransformer : public SampledImageModel, public VerifyingModel {
 public:
  ImageTransformer(const Scope& s, const ImageTransformerConfig& config);

  int64_t classes() const override { return config_.classes; }
  ImageLayout source() const override;
  std::span<const int32_t> order() const override { return order_.raster; }
  Tensor outputs(const ImageBatch& batch) const override;
  std::unique_ptr<DecodeState> start(int64_t rows, const ImageBatch& conditions) const override;
  Tensor steps(std::span<const ImageStep> parts) const override;
  // Tokens are levels of the steps before, as in steps(): the first of all is not looked at. As
  // many for every image, and no more than room(); `logits` are outputs [N,O].
  Verified verify(const Tensor& tokens, std::span<const int64_t> lengths,
                  DecodeState& state) const override;
  void roll_back(DecodeState& state, std::span<const int64_t> dropped) const override;
  // How many steps can be verified together now: blocks of attention are not left.
  int64_t room(const DecodeState& state) const;
  // What the output projection sees of each step: [B,T,C].
  Tensor hidden(const ImageBatch& batch) const;

 protected:
  Tensor project(const Tensor& x) const { return project_(x); }  // [..., C] -> [..., O]

 private:
  struct State;
  // Steps [first, first + count) of images whose levels are known up to there.
  struct Steps {
    const int32_t* levels;  // [B,T], raster order
    int64_t batch, first, count;
    Tensor classes;
  };
  Tensor neighbours(const Steps& steps) const;                       // f32 [B,count,F], if any
  Tensor embed(const Steps& steps, const Tensor& neighbours) const;  // [B,count,C]
  Tensor encode(const Tensor& source) const;                         // [B,S,C]
  Tensor say(const Tensor& x, const Tensor& neighbours) const;       // [B,count,C] -> [B,count,O]
  Steps all_steps(const ImageBatch& batch) const;
  Tensor whole(const ImageBatch& batch, const Tensor& around) const;  // [B,T,C]
  // The next steps of several beginnings, which move on: x [R,count,C] and what stands around.
  struct Next {
    Tensor x;
    Tensor around;  // [R,count,F], if any
  };
  Next next(std::span<State* const> states, int64_t count) const;

  ImageTransformerConfig config_;
  ImageOrder order_;
  Neighbours neighbours_;
  Embedding samples_;  // START, then the levels of each channel
  Embedding rows_, columns_, channels_;
  std::optional<Embedding> classes_;
  std::optional<Linear> neighbour_input_;
  std::optional<Linear> neighbour_output_;  // of a mixture, whose means lie near them
  std::optional<Embedding> source_rows_, source_columns_;
  std::vector<TransformerLayer> encoder_;
  std::optional<LayerNorm> encoder_norm_;
  std::vector<TransformerLayer> layers_;
  LayerNorm norm_;
  Linear project_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const ImageTransformerConfig& config);
void adapt(ImageTransformerConfig& config, const ImageSizes& images);

}  // namespace heed
