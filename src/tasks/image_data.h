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
    v("drawn", drawn, "images that are drawn by rules instead of files",
      {.choices = {"", "digits", "shapes"}});
    v("train", train, "MNIST's file of images, CIFAR's files, or a folder of PNG files",
      {.path = true});
    v("train_labels", train_labels, "MNIST's file of labels", {.path = true});
    v("valid", valid, "held-out images for validation", {.path = true});
    v("valid_labels", valid_labels, "their labels", {.path = true});
    v("test", test, "held-out images for the last score", {.path = true});
    v("test_labels", test_labels, "their labels", {.path = true});
    v("held_out", held_out, "without valid: the last so many images of train are held out",
      {.least = 0});
    v("rows", rows, "images are resized to so many; 0: as they are, which folders need not be",
      {.least = 0, .most = 4096});
    v("columns", columns, "and so many columns", {.least = 0, .most = 4096});
    v("grey", grey, "colours become grey");
    v("levels", levels, "a sample has one of so many levels", {.least = 2, .most = 256});
    v("binarise", binarise,
      "samples become 0 or 1: by a threshold, or drawn with their brightness as probability, once "
      "and for all",
      {.choices = {"no", "threshold", "sample"}});
    v("classes", classes, "the model is told the class of an image");
    v("enlarge", enlarge, "the model is shown the image made smaller by this factor; 0: it is not",
      {.least = 0, .most = 64});
  }
};

struct ImageSplits {
  ImageSet train, valid, test;
};
ImageSplits read_images(const ImageDataConfig& config);

}  // namespace heed
