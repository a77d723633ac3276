// A convolutional model of images, to compare with: gated PixelCNN (van den Oord et al. 2016). Two
// stacks of convolutions, one over the rows above, one over what stands to the left, so that every
// sample before is seen and none after. Channels stand side by side, as columns.
//
// Non-local blocks (Wang et al. 2018) can be put between: attention to all samples before, added to
// the convolutions' result.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/images/image_output.h"
#include "models/model.h"
#include "nn/attention.h"

namespace heed {

struct PixelCnnConfig {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 0;
  int64_t levels = 0;
  int64_t classes = 0;
  int64_t width = 64;
  int64_t layers = 8;
  int64_t kernel = 5;
  int64_t non_local = 0;
  float dropout = 0.0F;
  std::string output = "categorical";
  int64_t mixtures = 10;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("rows", rows, "height of an image in pixels; 0: as in the data", {.least = 0, .most = 4096});
    v("columns", columns, "width of an image in pixels; 0: as in the data",
      {.least = 0, .most = 4096});
    v("channels", channels, "channels of a pixel; 0: as in the data", {.least = 0, .most = 4});
    v("levels", levels, "levels of a sample; 0: as in the data", {.least = 0, .most = 65536});
    v("classes", classes, "number of classes to condition on; 0: none",
      {.least = 0, .most = 1 << 20});
    v("width", width, "size of a sample's vector", {.least = 1, .most = 65536});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("kernel", kernel, "width of the convolutions in pixels; odd", {.least = 1, .most = 99});
    v("non_local", non_local,
      "insert a non-local block after every group of this many layers; 0: none",
      {.least = 0, .most = 1000});
    v("dropout", dropout, "dropout of each layer's output", {.least = 0, .most = 0.99});
    v("output", output, "form of a sample's distribution", {.choices = {"categorical", "mixture"}});
    v("mixtures", mixtures, "number of logistic distributions in a mixture",
      {.least = 1, .most = 100});
  }
};

class PixelCnn : public SampledImageModel {
 public:
  PixelCnn(const Scope& s, const PixelCnnConfig& config);

  int64_t classes() const override { return config_.classes; }
  ImageLayout source() const override { return {0, 0, 0, 0}; }
  std::span<const int32_t> order() const override { return order_; }
  Tensor outputs(const ImageBatch& batch) const override;
  // Convolutions have no cache: each step computes the whole image.
  std::unique_ptr<DecodeState> start(int64_t rows, const ImageBatch& conditions) const override;
  Tensor steps(std::span<const ImageStep> parts) const override;

 private:
  struct Layer {
    Parameter above, above_bias;  // [2C,KH,KW,C]
    Parameter left, left_bias;    // [2C,1,KW',C]
    Linear down;                  // from the stack above to the one on the left: C -> 2C
    Linear out;                   // C -> C
    std::optional<SelfAttention> non_local;
    AttentionLabel label;
  };
  struct State;
  Tensor next(const Tensor& levels, State& state) const;  // [R,O]
  Layer make_layer(const Scope& s, int64_t number) const;
  // The samples one row up, or one to the left, of every place: [B,rows,columns * channels,C].
  Tensor shifted(const ImageBatch& batch, bool up) const;

  PixelCnnConfig config_;
  std::vector<int32_t> order_;
  Embedding samples_;  // START, then the levels of each channel
  Embedding channels_;
  std::optional<Embedding> classes_;
  std::vector<Layer> layers_;
  Linear hidden_;
  Linear project_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const PixelCnnConfig& config);
void adapt(PixelCnnConfig& config, const ImageSizes& images);

}  // namespace heed
