// Images drawn blockwise: the likeliest levels, as they are drawn one by one, in fewer passes; and
// close to them if that is enough.
#include "decode/images/blockwise_images.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "models/registry.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

struct Drawer {
  ParameterStore store;
  std::unique_ptr<Model> any;
  explicit Drawer(const Json& more, const char* kind = "blockwise_image_transformer") {
    Json fields{
        {"kind", kind},        {"rows", 6},        {"columns", 4},        {"channels", 1},
        {"levels", 5},         {"width", 16},      {"heads", 2},          {"layers", 2},
        {"hidden", 24},        {"block_rows", 3},  {"block_columns", 2},  {"memory_rows", 2},
        {"memory_columns", 2}, {"source_rows", 3}, {"source_columns", 2}, {"encoder_layers", 1}};
    fields.update(more);
    any = make_model(store.root(), resolve_model_config(fields, "test"));
    store.allocate(DType::f32, 4, ParameterStore::Use::batch_invariant);
  }
  const ImageModel& model() const { return dynamic_cast<const ImageModel&>(*any); }

  // Different small images to enlarge.
  SampleOptions options(int64_t images) const {
    const int64_t samples = model().source().samples();
    std::vector<int32_t> levels;
    for (int64_t i = 0; i < images * samples; ++i) {
      levels.push_back(static_cast<int32_t>((i * i + i / samples) % model().layout().levels));
    }
    SampleOptions options{.images = images, .sampling = {.temperature = 0.0F}};
    options.conditions.source = Tensor::from_ints(levels, {images, samples});
    return options;
  }
};

class BlockwiseImagesTest : public ::testing::TestWithParam<Json> {};

TEST_P(BlockwiseImagesTest, ExactlyTheLikeliestLevelsAloneAndInAnyBatch) {
  const Drawer drawer(GetParam());
  const SampleOptions options = drawer.options(4);
  const std::vector<int32_t> expected = sample_images(drawer.model(), options);
  const BlockwiseImages exact = draw_blockwise(drawer.model(), options, {});
  EXPECT_EQ(exact.levels, expected);
  EXPECT_LT(exact.passes, std::ssize(expected));
  EXPECT_EQ(draw_blockwise(drawer.model(), options, parse_acceptance("distance-0")).levels,
            expected);
  // What may be off by all levels always stands: a pass gives as many as fit into a block.
  const BlockwiseImages loose =
      draw_blockwise(drawer.model(), options, parse_acceptance("distance-5"));
  EXPECT_LT(loose.passes, exact.passes);
  EXPECT_EQ(loose.levels.size(), expected.size());
}

INSTANTIATE_TEST_SUITE_P(
    Forms, BlockwiseImagesTest,
    ::testing::Values(Json{{"proposals", 4}}, Json{{"proposals", 3}, {"attention", "full"}},
                      Json{{"proposals", 5}, {"attention", "local1d"}, {"block", 8}, {"memory", 4}},
                      Json{{"proposals", 2}, {"neighbours", 2}}));

TEST(BlockwiseImages, NeedAModelThatProposes) {
  const Drawer drawer(Json::object(), "image_transformer");
  EXPECT_EQ(error_of([&] { draw_blockwise(drawer.model(), drawer.options(1), {}); }),
            "[image] this model proposes nothing; one that does is trained with task = "
            "\"image_blockwise\", such as recipes/images/mnist-enlarge-blockwise.toml");
  EXPECT_EQ(error_of([] {
              Drawer(Json{{"output", "mixture"}});
            }),
            "[blockwise_image_transformer] output is mixture, expected categorical: proposals are "
            "levels");
}

}  // namespace
}  // namespace heed::testing
