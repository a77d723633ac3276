// Images as data sets: MNIST's and CIFAR-10's files, folders of PNG files, drawings made here; all
// of one size, in one array, and turned into what a model reads.
//
// A set is a plain value. Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/png.h"

namespace heed {

struct ImageSet {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;
  int64_t classes = 0;                        // 0: without labels
  int64_t levels = 256;                       // pixels are below it
  std::vector<uint8_t> pixels = {};           // [images, height, width, channels]
  std::vector<int32_t> labels = {};           // [images], or empty
  std::vector<std::string> class_names = {};  // [classes]
  std::string skipped = {};                   // files that cannot be used and why; empty: none

  int64_t image_bytes() const { return height * width * channels; }
  int64_t count() const { return image_bytes() == 0 ? 0 : std::ssize(pixels) / image_bytes(); }
  std::span<const uint8_t> image(int64_t index) const {
    return std::span(pixels).subspan(static_cast<size_t>(index * image_bytes()),
                                     static_cast<size_t>(image_bytes()));
  }
};

// MNIST's files; without `labels` (empty) the images have none. A class for each label up to the
// largest, at least ten.
ImageSet read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels);

ImageSet read_cifar_images(std::span<const std::filesystem::path> files);

// The PNG files of a folder, resized. Sub-folders are classes, each searched to the bottom; without
// any the images have no labels. In the order of their names. Grey if all files are, else RGB with
// opacity on white. Files that cannot be read are skipped and named; it is an Error if none is
// left.
ImageSet read_png_images(const std::filesystem::path& folder, int64_t height, int64_t width);

// PNG files as they are named, without labels; else the same.
ImageSet read_png_files(std::span<const std::filesystem::path> paths, int64_t height,
                        int64_t width);
bool is_png(const std::filesystem::path& path);  // by its name

// A folder of PNG files, PNG files, MNIST's file of images (its name has "idx") with one of labels
// or none, or CIFAR's files: whichever the paths are. Folders and PNG files need a size.
struct ImageFiles {
  std::vector<std::string> paths;
  std::string labels;
  int64_t height = 0;
  int64_t width = 0;
};
ImageSet read_image_files(const ImageFiles& files);

struct DrawnImages {
  std::string kind = "digits";  // or "shapes"
  uint64_t seed = 1;
  int64_t first = 0;  // other indices, other images: training and held-out ones need not overlap
  int64_t count = 0;
};
ImageSet draw_images(const DrawnImages& options);

enum class Binarise { no, threshold, sample };

struct ImageOptions {
  int64_t height = 0;  // 0: as it is
  int64_t width = 0;
  bool grey = false;
  int64_t levels = 256;              // fewer: v * levels / 256
  Binarise binarise = Binarise::no;  // threshold: 128 and above is 1; sample: 1 with p = v / 255
  // With a pixel's place in the set it decides the bit, so that everyone who reads the same files
  // gets the same bits.
  uint64_t binarise_seed = 20160508;
};
// In this order: resized, grey, binary or of fewer levels.
ImageSet prepared(ImageSet set, const ImageOptions& options);

// Each side divided by `factor`, each pixel the mean of factor x factor: the small images that
// models learn to enlarge.
ImageSet downscaled(const ImageSet& set, int64_t factor);

ImageSet slice(const ImageSet& set, int64_t begin, int64_t end);

// One image to look at: levels spread over 0 to 255.
Image picture_of(const ImageSet& set, int64_t index);
// Images [0, count) in rows of `columns`, a white line between them. To see pixels
// that a model made, put them into a set.
Image contact_sheet(const ImageSet& set, int64_t columns);

}  // namespace heed
