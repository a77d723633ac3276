#include "data/images/images.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "data/images/drawings.h"
#include "data/images/resize.h"
#include "formats/cifar.h"
#include "formats/idx.h"

namespace heed {
namespace {

constexpr int32_t kThreshold = 128;

Image raw_image(const ImageSet& set, int64_t index) {
  const std::span<const uint8_t> pixels = set.image(index);
  return {.width = set.width,
          .height = set.height,
          .channels = set.channels,
          .pixels = {pixels.begin(), pixels.end()}};
}

// Every image by itself; change(image) gives one of the new size.
template <typename Change>
void change_each(ImageSet& set, const Change& change) {
  const int64_t count = set.count();
  if (count == 0) {
    return;
  }
  const Image first = change(raw_image(set, 0));
  const size_t bytes = first.pixels.size();
  std::vector<uint8_t> pixels(bytes * static_cast<size_t>(count));
  parallel_for(count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Image changed = change(raw_image(set, i));
      std::ranges::copy(changed.pixels, pixels.begin() + i * static_cast<int64_t>(bytes));
    }
  });
  set.pixels = std::move(pixels);
  set.height = first.height;
  set.width = first.width;
  set.channels = first.channels;
}

// A product with no division: bits / 2^24 < v / 255.
bool is_sampled_one(uint8_t value, uint32_t bits) {
  return uint64_t{bits >> 8} * 255 < uint64_t{value} << 24;
}

void binarise(ImageSet& set, const ImageOptions& options) {
  const RandomStream random{options.binarise_seed, stream_of("binarise")};
  const bool sample = options.binarise == Binarise::sample;
  parallel_for(std::ssize(set.pixels), kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint8_t& value = set.pixels[static_cast<size_t>(i)];
      const bool one = sample ? is_sampled_one(value, random.bits(static_cast<uint64_t>(i)))
                              : value >= kThreshold;
      value = one ? 1 : 0;
    }
  });
  set.levels = 2;
}

}  // namespace

ImageSet read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels) {
  IdxArray array = read_idx(images, 3);
  ImageSet set;
  set.height = array.extents[1];
  set.width = array.extents[2];
  set.pixels = std::move(array.values);
  if (labels.empty()) {
    return set;
  }
  const IdxArray classes = read_idx(labels, 1);
  check(classes.extents[0] == set.count(), "[images] {} has {} labels, but {} has {} images",
        labels.string(), classes.extents[0], images.string(), set.count());
  set.labels.assign(classes.values.begin(), classes.values.end());
  set.classes = std::max(10, 1 + *std::ranges::max_element(set.labels));
  for (int64_t i = 0; i < set.classes; ++i) {
    set.class_names.push_back(std::to_string(i));
  }
  return set;
}

ImageSet read_cifar_images(std::span<const std::filesystem::path> files) {
  CifarImages images = read_cifar(files);
  ImageSet set;
  set.height = kCifarSide;
  set.width = kCifarSide;
  set.channels = kCifarChannels;
  set.classes = std::ssize(kCifarClasses);
  set.pixels = std::move(images.pixels);
  set.labels.assign(images.labels.begin(), images.labels.end());
  set.class_names.assign(kCifarClasses.begin(), kCifarClasses.end());
  return set;
}

ImageSet read_image_files(const ImageFiles& files) {
  check(!files.paths.empty(), "[image] no file of images is named");
  const std::filesystem::path first = files.paths.front();
  const bool folder = std::filesystem::is_directory(first);
  const bool idx = first.filename().string().find("idx") != std::string::npos;
  check(files.paths.size() == 1 || (!folder && !idx),
        "[image] {} files and folders, expected one, or several of CIFAR's or PNG files",
        files.paths.size());
  const std::vector<std::filesystem::path> paths(files.paths.begin(), files.paths.end());
  if (folder || is_png(first)) {
    check(files.height > 0 && files.width > 0,
          "[image] {} is a {}: say to which size images are resized (rows and columns)",
          first.string(), folder ? "folder" : "PNG file");
    return folder ? read_png_images(first, files.height, files.width)
                  : read_png_files(paths, files.height, files.width);
  }
  if (idx) {
    return read_idx_images(first, files.labels);
  }
  return read_cifar_images(paths);
}

ImageSet draw_images(const DrawnImages& options) {
  const bool digits = options.kind == "digits";
  check(digits || options.kind == "shapes", "[images] drawings \"{}\", expected digits or shapes",
        options.kind);
  check(options.count > 0 && options.first >= 0,
        "[images] {} drawings from {} on, expected 1 or more from 0 or more on", options.count,
        options.first);
  ImageSet set;
  set.height = digits ? kDigitSide : kShapeSide;
  set.width = set.height;
  set.channels = digits ? 1 : 3;
  set.classes = digits ? 10 : std::ssize(kShapeNames);
  for (int64_t i = 0; i < set.classes; ++i) {
    set.class_names.push_back(digits ? std::to_string(i)
                                     : std::string(kShapeNames[static_cast<size_t>(i)]));
  }
  set.pixels.resize(static_cast<size_t>(options.count * set.image_bytes()));
  set.labels.resize(static_cast<size_t>(options.count));
  parallel_for(options.count, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<uint64_t>(options.first + i);
      const Drawing drawing =
          digits ? draw_digit(options.seed, index) : draw_shape(options.seed, index);
      std::ranges::copy(drawing.image.pixels, set.pixels.begin() + i * set.image_bytes());
      set.labels[static_cast<size_t>(i)] = drawing.label;
    }
  });
  return set;
}

ImageSet prepared(ImageSet set, const ImageOptions& options) {
  check(options.levels >= 2 && options.levels <= 256, "[images] {} levels, expected 2 to 256",
        options.levels);
  check(options.binarise == Binarise::no || options.levels == 256,
        "[images] binary images of {} levels, expected one or the other", options.levels);
  check(options.height >= 0 && options.width >= 0, "[images] to {} x {}, expected 0 or more",
        options.height, options.width);
  check(set.levels == 256, "[images] prepared already: {} levels, expected 256", set.levels);
  const int64_t height = options.height == 0 ? set.height : options.height;
  const int64_t width = options.width == 0 ? set.width : options.width;
  if (height != set.height || width != set.width) {
    change_each(set, [&](const Image& image) { return resized(image, height, width); });
  }
  if (options.grey && set.channels != 1) {
    change_each(set, as_grey);
  }
  if (options.binarise != Binarise::no) {
    binarise(set, options);
  } else if (options.levels != 256) {
    for (uint8_t& value : set.pixels) {
      value = static_cast<uint8_t>(value * options.levels / 256);
    }
    set.levels = options.levels;
  }
  return set;
}

ImageSet downscaled(const ImageSet& set, int64_t factor) {
  check(factor > 0 && set.height % factor == 0 && set.width % factor == 0,
        "[images] {} x {} made smaller by {}, expected a factor of both sides", set.height,
        set.width, factor);
  ImageSet small = set;
  change_each(small, [&](const Image& image) {
    return resized(image, image.height / factor, image.width / factor);
  });
  return small;
}

ImageSet slice(const ImageSet& set, int64_t begin, int64_t end) {
  check(begin >= 0 && begin <= end && end <= set.count(),
        "[images] images {} to {}, expected a part of 0 to {}", begin, end, set.count());
  ImageSet part = set;
  part.pixels.assign(set.pixels.begin() + begin * set.image_bytes(),
                     set.pixels.begin() + end * set.image_bytes());
  if (!set.labels.empty()) {
    part.labels.assign(set.labels.begin() + begin, set.labels.begin() + end);
  }
  return part;
}

Image picture_of(const ImageSet& set, int64_t index) {
  check(index >= 0 && index < set.count(), "[images] image {}, expected 0 to {}", index,
        set.count() - 1);
  Image image = raw_image(set, index);
  for (uint8_t& value : image.pixels) {
    value = static_cast<uint8_t>(value * 255 / (set.levels - 1));
  }
  return image;
}

Image contact_sheet(const ImageSet& set, int64_t columns) {
  const int64_t count = set.count();
  check(count > 0 && columns > 0, "[images] a sheet of {} images in {} columns, expected 1 or more",
        count, columns);
  columns = std::min(columns, count);
  const int64_t rows = (count + columns - 1) / columns;
  Image sheet{.width = columns * (set.width + 1) - 1,
              .height = rows * (set.height + 1) - 1,
              .channels = set.channels,
              .pixels = {}};
  sheet.pixels.assign(static_cast<size_t>(sheet.width * sheet.height * sheet.channels), 255);
  for (int64_t i = 0; i < count; ++i) {
    const Image image = picture_of(set, i);
    const int64_t x = i % columns * (set.width + 1);
    for (int64_t row = 0; row < set.height; ++row) {
      const int64_t y = i / columns * (set.height + 1) + row;
      std::copy_n(image.pixels.begin() + row * set.width * set.channels, set.width * set.channels,
                  sheet.pixels.begin() + (y * sheet.width + x) * set.channels);
    }
  }
  return sheet;
}

}  // namespace heed
