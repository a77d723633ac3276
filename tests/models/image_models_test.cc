// What every model of images promises: the same likelihood in one pass and step by step, nothing of
// what comes later is seen, and it learns.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "autograd/tape.h"
#include "decode/images/sample_images.h"
#include "models/images/image_order.h"
#include "models/registry.h"
#include "nn/scopes/attention_scope.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

struct Variant {
  std::string name;
  Json fields;
};

std::string variant_name(const ::testing::TestParamInfo<Variant>& info) { return info.param.name; }

Json with(const Json& fields = Json::object()) {
  Json json{{"kind", "image_transformer"},
            {"rows", 4},
            {"columns", 6},
            {"channels", 1},
            {"levels", 5},
            {"width", 16},
            {"heads", 2},
            {"layers", 2},
            {"hidden", 32},
            {"dropout", 0},
            {"block", 6},
            {"memory", 9},
            {"block_rows", 2},
            {"block_columns", 3},
            {"memory_rows", 1},
            {"memory_columns", 2}};
  json.update(fields);
  return json;
}

Json cnn(const Json& fields = Json::object()) {
  Json json{{"kind", "pixel_cnn"}, {"rows", 4},  {"columns", 6}, {"channels", 1},
            {"levels", 5},         {"width", 8}, {"layers", 3},  {"kernel", 3}};
  json.update(fields);
  return json;
}

struct Made {
  ParameterStore store;
  std::unique_ptr<Model> any;
  const ImageModel& model;

  explicit Made(const Json& fields)
      : any(make_model(store.root(), resolve_model_config(fields, "test"))),
        model(dynamic_cast<const ImageModel&>(*any)) {}
};

std::vector<int32_t> noise_levels(int64_t count, int64_t levels, uint64_t seed) {
  const RandomStream random{seed, 1};
  std::vector<int32_t> result;
  for (int64_t i = 0; i < count; ++i) {
    const double at = random.uniform(static_cast<uint64_t>(i));
    result.push_back(static_cast<int32_t>(at * static_cast<double>(levels)));
  }
  return result;
}

ImageBatch noise_images(const ImageModel& model, int64_t images, uint64_t seed = 3) {
  const ImageLayout& layout = model.layout();
  const auto levels = [&](const ImageLayout& of, uint64_t with_seed) {
    return Tensor::from_ints(noise_levels(images * of.samples(), layout.levels, with_seed),
                             {images, of.samples()});
  };
  ImageBatch batch{.values = levels(layout, seed), .classes = {}, .source = {}};
  if (model.classes() > 0) {
    batch.classes = Tensor::from_ints(noise_levels(images, model.classes(), seed + 1), {images});
  }
  if (model.source().rows > 0) {
    batch.source = levels(model.source(), seed + 2);
  }
  return batch;
}

Tensor in_order(const ImageModel& model, const Tensor& values) {
  std::vector<int32_t> levels;
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t step = i % std::ssize(model.order());
    levels.push_back(values.data<int32_t>()[i - step + model.order()[static_cast<size_t>(step)]]);
  }
  return Tensor::from_ints(levels, values.shape());
}

class ImageModelTest : public ::testing::TestWithParam<Variant> {};

TEST_P(ImageModelTest, TheSameLikelihoodInOnePassAndStepByStep) {
  Made made(GetParam().fields);
  made.store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const ImageBatch batch = noise_images(made.model, 3);
  const std::vector<float> whole =
      made.model
          .loss(made.model.outputs(batch), in_order(made.model, batch.values), Reduction::none)
          .to_vector();
  const std::vector<double> steps = stepwise_log_likelihood(made.model, batch);
  const auto samples = static_cast<size_t>(made.model.layout().samples());
  for (size_t image = 0; image < steps.size(); ++image) {
    const double nats =
        std::accumulate(whole.begin() + static_cast<int64_t>(image * samples),
                        whole.begin() + static_cast<int64_t>((image + 1) * samples), 0.0);
    EXPECT_NEAR(-steps[image], nats, 1e-4 * nats);
  }
}

// Drawings that begin one after the other and go on together.
TEST_P(ImageModelTest, DrawsInCompanyWhatItDrawsAlone) {
  Made made(GetParam().fields);
  made.store.allocate(DType::f32, 3, ParameterStore::Use::batch_invariant);
  std::vector<SampleOptions> wanted;
  std::vector<ImageDrawing> drawings;
  for (int64_t i = 0; i < 3; ++i) {
    wanted.push_back({.images = 1 + i % 2,
                      .conditions = noise_images(made.model, 1 + i % 2, static_cast<uint64_t>(i)),
                      .seed = static_cast<uint64_t>(5 + i)});
  }
  while (drawings.size() < wanted.size() || !drawings.back().finished()) {
    if (drawings.size() < wanted.size()) {
      drawings.emplace_back(made.model, wanted[drawings.size()]);
    }
    std::vector<ImageDrawing*> open;
    for (ImageDrawing& drawing : drawings) {
      if (!drawing.finished()) {
        open.push_back(&drawing);
      }
    }
    ImageDrawing::step_together(open);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(drawings[i].levels(), sample_images(made.model, wanted[i])) << i;
  }
}

// A sample changes what is said of those after it, and of no other.
TEST_P(ImageModelTest, NothingThatComesLaterIsSeen) {
  Made made(GetParam().fields);
  made.store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const ImageBatch batch = noise_images(made.model, 1);
  const std::vector<float> before = made.model.outputs(batch).to_vector();
  const auto steps = made.model.order().size();
  const size_t each = before.size() / steps;
  bool later = false;
  for (const size_t changed : {size_t{0}, steps / 2, steps - 2}) {
    int32_t& level = batch.values.data<int32_t>()[made.model.order()[changed]];
    const int32_t old = level;
    level = (level + 2) % static_cast<int32_t>(made.model.layout().levels);
    const std::vector<float> after = made.model.outputs(batch).to_vector();
    for (size_t i = 0; i < before.size(); ++i) {
      later = later || (i / each > changed && after[i] != before[i]);
      ASSERT_TRUE(i / each > changed || after[i] == before[i])
          << "step " << i / each << " sees step " << changed;
    }
    level = old;
  }
  EXPECT_TRUE(later);
}

TEST_P(ImageModelTest, LearnsImagesByHeart) {
  Made made(GetParam().fields);
  made.store.allocate(DType::f32, 3);
  const ImageBatch batch = noise_images(made.model, 2);
  const Tensor targets = in_order(made.model, batch.values);
  const auto optimizer = make_optimizer(made.store, {});
  Tape tape(5);
  float first = 0.0F;
  float last = 0.0F;
  for (int step = 0; step < 150; ++step) {
    tape.clear();
    made.store.clear_gradients();
    {
      const TapeScope scope(tape);
      const Tensor loss = made.model.loss(made.model.outputs(batch), targets, Reduction::mean);
      last = loss.item();
      first = step == 0 ? last : first;
      tape.backward(loss);
    }
    optimizer->step(1e-2F);
  }
  EXPECT_GT(first, 1.2F);
  EXPECT_LT(last, 0.5F);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ImageModelTest,
    ::testing::Values(Variant{"full", with({{"attention", "full"}})},
                      Variant{"local1d", with({{"attention", "local1d"}})},
                      Variant{"local2d", with()},
                      Variant{"colour", with({{"channels", 3}, {"levels", 4}})},
                      Variant{"classes", with({{"classes", 3}})},
                      Variant{"neighbours", with({{"neighbours", 2}})},
                      Variant{"mixture", with({{"output", "mixture"}, {"mixtures", 3}})},
                      Variant{"mixture_near_neighbours",
                              with({{"output", "mixture"}, {"mixtures", 3}, {"neighbours", 2}})},
                      Variant{
                          "enlarges",
                          with({{"source_rows", 2}, {"source_columns", 3}, {"encoder_layers", 1}})},
                      Variant{"pixel_cnn", cnn()},
                      Variant{"pixel_cnn_colour", cnn({{"channels", 3}, {"classes", 2}})},
                      Variant{"pixel_cnn_non_local", cnn({{"non_local", 2}})}),
    variant_name);

// Of each kind, so many layers; rows over the samples sum to 1.
void expect_maps(const Json& fields, const std::vector<std::string>& kinds) {
  Made made(fields);
  made.store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const AttentionScope scope;
  made.model.outputs(noise_images(made.model, 2));
  std::vector<std::string> found;
  for (const LayerAttention& map : scope.layers()) {
    found.push_back(map.kind + " " + std::to_string(map.layer));
    const int64_t keys = map.weights.dim(3);
    ASSERT_EQ(map.weights.dim(2), map.kind == "encoder" ? 6 : 24);
    ASSERT_EQ(keys, map.kind == "decoder" ? 24 : 6);
    for (int64_t row = 0; row < map.weights.size() / keys; ++row) {
      const float* first = map.weights.data<float>() + row * keys;
      EXPECT_NEAR(std::accumulate(first, first + keys, 0.0), 1.0, 1e-5);
    }
  }
  EXPECT_EQ(found, kinds);
}

TEST(ImageModels, ShowTheirAttention) {
  expect_maps(with(), {"decoder 0", "decoder 1"});
  expect_maps(with({{"source_rows", 2}, {"source_columns", 3}, {"encoder_layers", 1}}),
              {"encoder 0", "decoder 0", "cross 0", "decoder 1", "cross 1"});
  expect_maps(cnn(), {});
  expect_maps(cnn({{"non_local", 2}}), {"decoder 1"});
}

TEST(ImageOrder, BlocksOfTheImageWithWhatLiesAroundThem) {
  const ImageLayout layout{4, 4, 1, 2};
  const ImageOrder order = order_image(layout, {.attention = "local2d",
                                                .block_rows = 2,
                                                .block_columns = 2,
                                                .memory_rows = 1,
                                                .memory_columns = 1});
  EXPECT_EQ(order.raster,
            (std::vector<int32_t>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_EQ(order.plan->block(), 4);
  const auto raster_memory = [&](int64_t block) {
    std::vector<int32_t> seen;
    for (const int32_t step : order.plan->memory(block)) {
      seen.push_back(order.raster[static_cast<size_t>(step)]);
    }
    std::sort(seen.begin(), seen.end());
    return seen;
  };
  EXPECT_TRUE(raster_memory(0).empty());
  EXPECT_EQ(raster_memory(1), (std::vector<int32_t>{1, 5}));     // to the left
  EXPECT_EQ(raster_memory(2), (std::vector<int32_t>{4, 5, 6}));  // above and to the right
  EXPECT_EQ(raster_memory(3), (std::vector<int32_t>{5, 6, 7, 9, 13}));
  EXPECT_NE(error_of([&] {
              order_image(layout, {.attention = "local2d", .block_rows = 3, .block_columns = 2});
            }).find("expected to divide images of 4x4"),
            std::string::npos);
}

TEST(SampleImages, GivenSamplesStayAndSeedsDecide) {
  Made made(with({{"classes", 3}}));
  made.store.allocate(DType::f32, 3, ParameterStore::Use::batch_invariant);
  SampleOptions options{.images = 3, .conditions = noise_images(made.model, 3)};
  const std::vector<int32_t> free = sample_images(made.model, options);
  EXPECT_EQ(sample_images(made.model, options), free);
  options.seed = 2;
  EXPECT_NE(sample_images(made.model, options), free);
  options.given.assign(24, false);
  std::fill_n(options.given.begin(), 12, true);
  const std::vector<int32_t> completed = sample_images(made.model, options);
  for (int64_t i = 0; i < 3 * 24; ++i) {
    if (i % 24 < 12) {
      EXPECT_EQ(completed[static_cast<size_t>(i)], options.conditions.values.data<int32_t>()[i]);
    }
  }
}

}  // namespace
}  // namespace heed::testing
