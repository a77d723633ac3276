#include "tasks/setup/image_data.h"

#include <utility>

#include "base/error.h"

namespace heed {
namespace {

Binarise binarise_of(const std::string& name) {
  return name == "sample"      ? Binarise::sample
         : name == "threshold" ? Binarise::threshold
                               : Binarise::no;
}

ImageSet read_set(const std::vector<std::string>& paths, const std::string& labels,
                  const ImageDataConfig& config) {
  return paths.empty() ? ImageSet()
                       : read_image_files({.paths = paths,
                                           .labels = labels,
                                           .height = config.rows,
                                           .width = config.columns});
}

ImageSet prepare(ImageSet set, const ImageDataConfig& config) {
  return set.count() == 0 ? set
                          : prepared(std::move(set), {.height = config.rows,
                                                      .width = config.columns,
                                                      .grey = config.grey,
                                                      .levels = config.levels,
                                                      .binarise = binarise_of(config.binarise)});
}

}  // namespace

ImageSet read_sample(const ImageDataConfig& config) {
  if (!config.drawn.empty()) {
    return prepare(draw_images({.kind = config.drawn, .first = 0, .count = 1}), config);
  }
  // Labels are those of all files.
  const bool first = config.train_labels.empty();
  return prepare(read_set(first ? std::vector{config.train.front()} : config.train,
                          config.train_labels, config),
                 config);
}

ImageSplits read_images(const ImageDataConfig& config) {
  ImageSplits splits;
  if (!config.drawn.empty()) {
    constexpr int64_t kTrain = 20000;
    constexpr int64_t kHeldOut = 500;
    const auto draw = [&](int64_t first, int64_t count) {
      return draw_images({.kind = config.drawn, .first = first, .count = count});
    };
    splits = {draw(0, kTrain), draw(kTrain, kHeldOut), draw(kTrain + kHeldOut, kHeldOut)};
  } else {
    splits = {read_set(config.train, config.train_labels, config),
              read_set(config.valid, config.valid_labels, config),
              read_set(config.test, config.test_labels, config)};
  }
  for (ImageSet* set : {&splits.train, &splits.valid, &splits.test}) {
    *set = prepare(std::move(*set), config);
  }
  if (splits.valid.count() == 0 && config.held_out > 0) {
    const int64_t count = splits.train.count();
    check(config.held_out < count, "[image] {} of {} images are held out, expected fewer",
          config.held_out, count);
    splits.valid = slice(splits.train, count - config.held_out, count);
    splits.train = slice(splits.train, 0, count - config.held_out);
  }
  return splits;
}

}  // namespace heed
