// What a recipe says about images, and the images it means.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "data/images/images.h"

namespace heed {

struct ImageDataConfig {
  std::string drawn;
  std::vector<std::string> train, valid, test;
  std::string train_labels, valid_labels, test_labels;
  int64_t rows = 0;
  int64_t columns = 0;
  bool grey = false;
  int64_t levels = 256;
  std::string binarise = "no";
  bool classes = false;
  int64_t enlarge = 0;
  int64_t held_out = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("drawn", drawn, "images drawn by rules, instead of files",
      {.choices = {"", "digits", "shapes"}});
    v("train", train, "MNIST's file of images, CIFAR's files, or a folder of PNG files",
      {.path = true});
    v("train_labels", train_labels, "MNIST's file of labels", {.path = true});
    v("valid", valid, "held-out images for validation", {.path = true});
    v("valid_labels", valid_labels, "labels of valid", {.path = true});
    v("test", test, "held-out images for the final test", {.path = true});
    v("test_labels", test_labels, "labels of test", {.path = true});
    v("held_out", held_out, "without valid: number of images of train to hold out, from the end",
      {.least = 0});
    v("rows", rows, "height in pixels to resize images to; 0: keep it; PNG files need it",
      {.least = 0, .most = 4096});
    v("columns", columns, "width in pixels to resize images to; 0: keep it",
      {.least = 0, .most = 4096});
    v("grey", grey, "convert colours to grey");
    v("levels", levels, "number of levels of a sample", {.least = 2, .most = 256});
    v("binarise", binarise,
      "make samples 0 or 1: by a threshold, or by sampling once with the brightness as the "
      "probability",
      {.choices = {"no", "threshold", "sample"}});
    v("classes", classes, "condition the model on the class of the image");
    v("enlarge", enlarge, "condition the model on the image reduced by this factor; 0: do not",
      {.least = 0, .most = 64});
  }
};

struct ImageSplits {
  ImageSet train, valid, test;
};
ImageSplits read_images(const ImageDataConfig& config);
// Some of the images to learn from, which are like the others but for their content.
ImageSet read_sample(const ImageDataConfig& config);

}  // namespace heed
