#include "decode/sample_images.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace heed {
namespace {

// log p of each level, from the outputs of one image's step.
std::vector<float> log_probabilities(const ImageModel& model, std::span<const float> outputs) {
  std::vector<float> result(static_cast<size_t>(model.layout().levels));
  model.probabilities(outputs, result);
  for (float& value : result) {
    value = value > 0.0F ? std::log(value) : -std::numeric_limits<float>::infinity();
  }
  return result;
}

// Calls level(image, raster index, log probabilities) for each image in each step, which says the
// level that comes; after(step) goes on while it is true.
template <typename Level, typename After>
void walk(const ImageModel& model, int64_t images, const ImageBatch& conditions, const Level& level,
          const After& after) {
  const std::unique_ptr<DecodeState> state = model.start(images, conditions);
  Tensor before;
  for (size_t step = 0; step < model.order().size(); ++step) {
    const std::vector<float> outputs = model.step(before, *state).to_vector();  // [R,O]
    const size_t each = outputs.size() / static_cast<size_t>(images);
    std::vector<int32_t> levels;
    for (int64_t i = 0; i < images; ++i) {
      levels.push_back(level(i, model.order()[step],
                             log_probabilities(model, std::span(outputs).subspan(
                                                          static_cast<size_t>(i) * each, each))));
    }
    before = Tensor::from_ints(levels, {images});
    if (!after(static_cast<int64_t>(step) + 1)) {
      return;
    }
  }
}

}  // namespace

std::vector<int32_t> sample_images(const ImageModel& model, const SampleOptions& options,
                                   const SampleCallback& progress) {
  const int64_t samples = model.layout().samples();
  check(options.images > 0, "[image] {} images, expected some", options.images);
  check(options.given.empty() || (std::ssize(options.given) == samples &&
                                  options.conditions.values.size() == options.images * samples),
        "[image] {} samples of an image are given, expected {}", options.given.size(), samples);
  check_sampling(options.sampling);
  std::vector<int32_t> levels(static_cast<size_t>(options.images * samples));
  walk(
      model, options.images, options.conditions,
      [&](int64_t image, int32_t sample, const std::vector<float>& logits) {
        const int64_t at = image * samples + sample;
        const bool known = !options.given.empty() && options.given[static_cast<size_t>(sample)];
        const RandomStream random{options.seed, static_cast<uint64_t>(image)};
        return levels[static_cast<size_t>(at)] =
                   known ? options.conditions.values.data<int32_t>()[at]
                         : draw(candidates(logits, {}, options.sampling),
                                random.uniform(static_cast<uint64_t>(sample)));
      },
      [&](int64_t steps) { return !progress || progress(steps, levels); });
  return levels;
}

std::vector<double> stepwise_log_likelihood(const ImageModel& model, const ImageBatch& images) {
  const int64_t samples = model.layout().samples();
  const int64_t count = images.values.dim(0);
  std::vector<double> result(static_cast<size_t>(count));
  walk(
      model, count, images,
      [&](int64_t image, int32_t sample, const std::vector<float>& logits) {
        const int32_t level = images.values.data<int32_t>()[image * samples + sample];
        result[static_cast<size_t>(image)] += logits.at(static_cast<size_t>(level));
        return level;
      },
      [](int64_t) { return true; });
  return result;
}

}  // namespace heed
