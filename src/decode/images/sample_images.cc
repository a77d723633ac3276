#include "decode/images/sample_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

// log p of each level, for every row of outputs [R,O].
std::vector<std::vector<float>> log_probabilities_of(const ImageModel& model,
                                                     const Tensor& outputs) {
  const Tensor values = outputs.to(DType::f32);
  const auto each = static_cast<size_t>(values.dim(1));
  std::vector<std::vector<float>> images;
  for (int64_t i = 0; i < values.dim(0); ++i) {
    std::vector<float>& levels = images.emplace_back(static_cast<size_t>(model.layout().levels));
    model.probabilities(values.span<float>().subspan(static_cast<size_t>(i) * each, each), levels);
    for (float& value : levels) {
      value = value > 0.0F ? std::log(value) : -std::numeric_limits<float>::infinity();
    }
  }
  return images;
}

}  // namespace

ImageOptions options_for(const ImageLayout& layout) {
  const bool binary = layout.levels == 2;
  return {.height = layout.rows,
          .width = layout.columns,
          .grey = layout.channels == 1,
          .levels = binary ? 256 : layout.levels,
          .binarise = binary ? Binarise::threshold : Binarise::no};
}

ImageSet image_set(const ImageLayout& layout, std::span<const int32_t> levels) {
  ImageSet set{.height = layout.rows,
               .width = layout.columns,
               .channels = layout.channels,
               .levels = layout.levels};
  set.pixels.assign(levels.begin(), levels.end());
  return set;
}

Tensor classes_for(const LoadedImageModel& model, const std::string& wanted, int64_t images) {
  const int64_t classes = model.model->classes();
  check(classes > 0 || wanted.empty(),
        "[image] class {} is asked for, but the model has no classes", wanted);
  if (classes == 0) {
    return {};
  }
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < images; ++i) {
    ids.push_back(static_cast<int32_t>(i % classes));
  }
  if (!wanted.empty()) {
    const std::vector<std::string>& names = model.config.labels;
    const auto found = std::find(names.begin(), names.end(), wanted);
    int64_t id = found - names.begin();
    if (found == names.end()) {
      const auto parsed = std::from_chars(wanted.data(), wanted.data() + wanted.size(), id);
      check(parsed.ec == std::errc() && parsed.ptr == wanted.data() + wanted.size() && id >= 0 &&
                id < classes,
            "[image] there is no class {}, expected {}{}0 to {}", wanted, fmt::join(names, ", "),
            names.empty() ? "" : " or ", classes - 1);
    }
    ids.assign(ids.size(), static_cast<int32_t>(id));
  }
  return Tensor::from_ints(ids, {images});
}

ImageDrawing::ImageDrawing(const ImageModel& model, SampleOptions options)
    : model_(model), options_(std::move(options)) {
  const int64_t samples = model.layout().samples();
  check(options_.images > 0, "[image] the number of images is {}, expected 1 or more",
        options_.images);
  check(options_.given.empty() || (std::ssize(options_.given) == samples &&
                                   options_.conditions.values.size() == options_.images * samples),
        "[image] {} samples of an image are given, expected {}", options_.given.size(), samples);
  check_sampling(options_.sampling);
  state_ = model.start(options_.images, options_.conditions);
  levels_.resize(static_cast<size_t>(options_.images * samples));
}

void ImageDrawing::draw_next(std::span<const std::vector<float>> log_probabilities) {
  const int32_t place = model_.order()[static_cast<size_t>(steps_)];
  const bool known = !options_.given.empty() && options_.given[static_cast<size_t>(place)];
  std::vector<int32_t> drawn;
  for (int64_t image = 0; image < options_.images; ++image) {
    const int64_t at = image * model_.layout().samples() + place;
    const RandomStream random{options_.seed, static_cast<uint64_t>(image)};
    drawn.push_back(known
                        ? options_.conditions.values.data<int32_t>()[at]
                        : sample(log_probabilities[static_cast<size_t>(image)], {},
                                 options_.sampling, random.uniform(static_cast<uint64_t>(place))));
    levels_[static_cast<size_t>(at)] = drawn.back();
  }
  before_ = Tensor::from_ints(drawn, {options_.images});
  ++steps_;
}

void ImageDrawing::step_together(std::span<ImageDrawing* const> drawings) {
  if (drawings.empty()) {
    return;
  }
  const ImageModel& model = drawings[0]->model_;
  std::vector<ImageStep> parts;
  for (const ImageDrawing* drawing : drawings) {
    parts.push_back({drawing->before_, *drawing->state_});
  }
  const std::vector<std::vector<float>> log_probabilities =
      log_probabilities_of(model, model.steps(parts));
  size_t row = 0;
  for (ImageDrawing* drawing : drawings) {
    const auto rows = static_cast<size_t>(drawing->options_.images);
    drawing->draw_next(std::span(log_probabilities).subspan(row, rows));
    row += rows;
  }
}

std::vector<int32_t> sample_images(const ImageModel& model, const SampleOptions& options,
                                   const SampleCallback& progress) {
  ImageDrawing drawing(model, options);
  while (!drawing.finished()) {
    drawing.step();
    if (progress && !progress(drawing.steps(), drawing.levels())) {
      break;
    }
  }
  return drawing.levels();
}

std::vector<double> stepwise_log_likelihood(const ImageModel& model, const ImageBatch& images) {
  const int64_t samples = model.layout().samples();
  const int64_t count = images.values.dim(0);
  const std::unique_ptr<DecodeState> state = model.start(count, images);
  std::vector<double> result(static_cast<size_t>(count));
  Tensor before;
  for (const int32_t sample : model.order()) {
    const std::vector<std::vector<float>> log_probabilities =
        log_probabilities_of(model, model.step(before, *state));
    std::vector<int32_t> came;
    for (int64_t image = 0; image < count; ++image) {
      came.push_back(images.values.data<int32_t>()[image * samples + sample]);
      result[static_cast<size_t>(image)] +=
          log_probabilities[static_cast<size_t>(image)].at(static_cast<size_t>(came.back()));
    }
    before = Tensor::from_ints(came, {count});
  }
  return result;
}

}  // namespace heed
