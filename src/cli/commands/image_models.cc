// `heed image sample`, `complete` and `upscale`: images drawn by a model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cli/command.h"
#include "cli/pictures/image_attention.h"
#include "cli/share_progress.h"
#include "data/images/images.h"
#include "decode/images/blockwise_images.h"
#include "decode/images/sample_images.h"
#include "models/folder.h"
#include "tasks/image_task.h"

namespace heed::cli {
namespace {

struct ImageArguments {
  std::string model, output, class_name, attention;
  std::vector<int64_t> pixel;
  ImageFiles files;
  std::optional<DType> precision;
  int64_t count = 0;
  int64_t first = 0;
  int64_t variants = 3;
  int64_t scale = 1;  // of the picture that is written
  double keep = 0.5;
  bool small = false;  // the images are those to be enlarged
  std::string decoding = "sample";
  int64_t distance = 0;
  SampleOptions sample;
};

// The images that are named, as the model has learned them.
ImageSet read_for(const ImageLayout& layout, const ImageArguments& arguments) {
  ImageFiles files = arguments.files;
  files.height = layout.rows;
  files.width = layout.columns;
  const ImageSet all = read_image_files(files);
  warn_skipped(all.skipped);
  const int64_t last = std::min(arguments.first + arguments.count, all.count());
  check(arguments.first < last, "[image] {} has {} images, expected more than --first {}",
        files.paths.front(), all.count(), arguments.first);
  return prepared(slice(all, arguments.first, last), options_for(layout));
}

// Loads the model, after what can be found out before it.
auto load(const ImageArguments& arguments) {
  check_output("--output", arguments.output, {".png"});
  check_output("--attention", arguments.attention, {".png"});
  return load_as<ImageModel>(arguments.model, arguments.precision);
}

std::vector<int32_t> drawn(const ImageModel& model, const SampleOptions& options) {
  ShareProgress progress;
  return sample_images(model, options, [&](int64_t steps, std::span<const int32_t>) {
    progress.show(static_cast<double>(steps) / static_cast<double>(model.layout().samples()));
    return true;
  });
}

// The likeliest levels, several in each pass.
std::vector<int32_t> drawn_blockwise(const ImageModel& model, const ImageArguments& arguments,
                                     const SampleOptions& options) {
  const BlockwiseImages images = draw_blockwise(
      model, options, {.kind = Acceptance::Kind::distance, .within = arguments.distance});
  fmt::print(stderr, "heed: {} samples in {} passes, {:.2f} each\n", images.levels.size(),
             images.passes,
             static_cast<double>(images.levels.size()) / static_cast<double>(images.passes));
  return images.levels;
}

// Images with every pixel a square.
ImageSet blown_up(const ImageSet& small, int64_t factor) {
  ImageSet large = slice(small, 0, 0);
  large.height = small.height * factor;
  large.width = small.width * factor;
  for (int64_t i = 0; i < small.count(); ++i) {
    const std::span<const uint8_t> image = small.image(i);
    for (int64_t row = 0; row < large.height; ++row) {
      for (int64_t at = 0; at < large.width * small.channels; ++at) {
        const int64_t column = at / small.channels / factor;
        const int64_t from =
            (row / factor * small.width + column) * small.channels + at % small.channels;
        large.pixels.push_back(image[static_cast<size_t>(from)]);
      }
    }
  }
  return large;
}

void report(const ImageArguments& arguments, const Image& sheet, int64_t images) {
  const ImageSet picture = blown_up({.height = sheet.height,
                                     .width = sheet.width,
                                     .channels = sheet.channels,
                                     .pixels = sheet.pixels},
                                    arguments.scale);
  write_png(arguments.output, {.width = picture.width,
                               .height = picture.height,
                               .channels = picture.channels,
                               .pixels = picture.pixels});
  fmt::print("{}: {} images, {} x {}\n", arguments.output, images, picture.width, picture.height);
}

struct Pixel {
  int64_t row, column;
};
Pixel chosen_pixel(const ImageLayout& layout, const ImageArguments& arguments) {
  if (arguments.pixel.empty()) {
    return {layout.rows / 2, layout.columns / 2};
  }
  check_pixel(layout, arguments.pixel[0], arguments.pixel[1]);
  return {arguments.pixel[0], arguments.pixel[1]};
}

void write_attention(const LoadedImageModel& model, const ImageArguments& arguments,
                     const ImageBatch& batch) {
  if (arguments.attention.empty()) {
    return;
  }
  const auto [row, column] = chosen_pixel(model.model->layout(), arguments);
  write_png(arguments.attention, attention_of_pixel(*model.model, batch, row, column));
  fmt::print("{}: attention of pixel {},{}, one row per layer, one column per head\n",
             arguments.attention, row, column);
}

void sample(const ImageArguments& arguments) {
  const auto model = load(arguments);
  check(model->model->source().rows == 0,
        "[image] {} enlarges images; use it with heed image upscale", arguments.model);
  chosen_pixel(model->model->layout(), arguments);  // what is wrong with it shows before the work
  SampleOptions options = arguments.sample;
  options.images = arguments.count;
  options.conditions.classes = classes_for(*model, arguments.class_name, options.images);
  const std::vector<int32_t> levels = drawn(*model->model, options);
  const ImageSet set = image_set(model->model->layout(), levels);
  const auto across = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(set.count()))));
  const bool by_class = model->model->classes() > 0 && arguments.class_name.empty();
  report(arguments,
         contact_sheet(set, by_class ? std::min(model->model->classes(), set.count()) : across),
         set.count());
  const std::vector<int64_t> one{0};
  ImageSet labelled = slice(set, 0, 1);
  if (model->model->classes() > 0) {
    labelled.labels = {options.conditions.classes.data<int32_t>()[0]};
  }
  write_attention(*model, arguments, image_batch(*model->model, labelled, one, 0));
}

// One line per image: as it is, what of it is given, and what the model makes of that.
void complete(const ImageArguments& arguments) {
  const auto model = load(arguments);
  const ImageLayout& layout = model->model->layout();
  const ImageSet images = read_for(layout, arguments);
  const int64_t samples = layout.samples();
  const auto given =
      static_cast<int64_t>(std::lround(arguments.keep * static_cast<double>(layout.rows))) *
      layout.columns * layout.channels;
  ImageSet sheet = image_set(layout, {});
  std::vector<int32_t> values;
  for (int64_t i = 0; i < images.count(); ++i) {
    for (int64_t j = 0; j < arguments.variants; ++j) {
      const std::span<const uint8_t> image = images.image(i);
      values.insert(values.end(), image.begin(), image.end());
    }
  }
  SampleOptions options = arguments.sample;
  options.images = images.count() * arguments.variants;
  options.conditions.values = Tensor::from_ints(values, {options.images, samples});
  options.conditions.classes = classes_for(*model, arguments.class_name, options.images);
  for (int64_t i = 0; i < samples; ++i) {
    options.given.push_back(i < given);
  }
  const std::vector<int32_t> levels = drawn(*model->model, options);
  for (int64_t i = 0; i < images.count(); ++i) {
    const std::span<const uint8_t> image = images.image(i);
    sheet.pixels.insert(sheet.pixels.end(), image.begin(), image.end());
    sheet.pixels.insert(sheet.pixels.end(), image.begin(), image.begin() + given);
    sheet.pixels.resize(sheet.pixels.size() + static_cast<size_t>(samples - given));
    const auto begin = levels.begin() + i * arguments.variants * samples;
    sheet.pixels.insert(sheet.pixels.end(), begin, begin + arguments.variants * samples);
  }
  report(arguments, contact_sheet(sheet, 2 + arguments.variants), images.count());
}

// One line per image: the small one, what the model makes of it, and what it was made small from.
void upscale(const ImageArguments& arguments) {
  const auto model = load(arguments);
  const ImageLayout& layout = model->model->layout();
  const ImageLayout source = model->model->source();
  check(source.rows > 0, "[image] {} does not enlarge images; train a model with image.enlarge",
        arguments.model);
  const bool blockwise = arguments.decoding == "blockwise";
  check(blockwise || arguments.distance == 0,
        "--distance is for --decoding blockwise, which takes proposals that come close");
  const int64_t factor = layout.rows / source.rows;
  const ImageSet images = read_for(arguments.small ? source : layout, arguments);
  const ImageSet small = arguments.small ? images : downscaled(images, factor);
  std::vector<int32_t> values;
  for (int64_t i = 0; i < small.count() * arguments.variants; ++i) {
    const std::span<const uint8_t> image = small.image(i / arguments.variants);
    values.insert(values.end(), image.begin(), image.end());
  }
  SampleOptions options = arguments.sample;
  options.images = images.count() * arguments.variants;
  options.conditions.source = Tensor::from_ints(values, {options.images, source.samples()});
  options.conditions.classes = classes_for(*model, arguments.class_name, options.images);
  const std::vector<int32_t> levels = blockwise ? drawn_blockwise(*model->model, arguments, options)
                                                : drawn(*model->model, options);
  const ImageSet large = blown_up(small, factor);
  ImageSet sheet = image_set(layout, {});
  for (int64_t i = 0; i < images.count(); ++i) {
    const std::span<const uint8_t> before = large.image(i);
    sheet.pixels.insert(sheet.pixels.end(), before.begin(), before.end());
    const auto begin = levels.begin() + i * arguments.variants * layout.samples();
    sheet.pixels.insert(sheet.pixels.end(), begin, begin + arguments.variants * layout.samples());
    if (!arguments.small) {
      const std::span<const uint8_t> image = images.image(i);
      sheet.pixels.insert(sheet.pixels.end(), image.begin(), image.end());
    }
  }
  const int64_t across = (arguments.small ? 1 : 2) + arguments.variants;
  report(arguments, contact_sheet(sheet, across), images.count());
}

void add_common(Command& command, ImageArguments& arguments) {
  command.option("--model", arguments.model, "folder of an image model")
      .value_name("DIR")
      .required();
  command.option("--output", arguments.output, "PNG file to write").value_name("FILE").required();
  command
      .option("--scale", arguments.scale,
              "enlarge the written picture N times, every pixel to a square")
      .range(1, 64)
      .show_default();
  command
      .option("--class", arguments.class_name,
              "class to draw, by name or number (default: all in turn)")
      .value_name("NAME");
  add_sampling(command, arguments.sample.sampling);
  command
      .option("--seed", arguments.sample.seed, "random seed; the same seed gives the same images")
      .show_default();
  add_precision(command, arguments.precision);
}

void add_files(Command& command, ImageArguments& arguments) {
  command
      .option("FILE", arguments.files.paths,
              "images: files of MNIST or CIFAR-10, PNG files, or folders of PNG files")
      .required();
  command.option("--count", arguments.count, "number of images").show_default().range(1, 1000);
  command.option("--first", arguments.first, "index of the first image to use")
      .show_default()
      .not_negative();
  command.option("--n", arguments.variants, "variants per image").show_default().range(1, 100);
}

}  // namespace

void add_image_models(Command& image) {
  auto sampled = std::make_shared<ImageArguments>();
  sampled->count = 64;
  Command command = image.subcommand("sample", "Draw images with a model");
  add_common(command, *sampled);
  command.option("--count", sampled->count, "number of images").show_default().range(1, 10000);
  command
      .option("--attention", sampled->attention,
              "PNG file for the attention of one pixel of the first image")
      .value_name("FILE");
  command.option("--pixel", sampled->pixel, "the pixel of --attention (default: the middle)")
      .value_name("ROW COLUMN")
      .count(2);
  command.example("Draw 100 digits",
                  "heed image sample --model runs/digits --count 100 --output digits.png");
  command.example("Draw 16 digits, four times as large",
                  "heed image sample --model runs/digits --count 16 --scale 4 --output large.png");
  command.action([sampled] { sample(*sampled); });

  auto completed = std::make_shared<ImageArguments>();
  completed->count = 8;
  command = image.subcommand("complete", "Complete images of which the upper part is given");
  add_common(command, *completed);
  add_files(command, *completed);
  command.option("--keep", completed->keep, "share of the rows that is given")
      .show_default()
      .range(0.0, 1.0);
  command.example("Complete the lower half of digits",
                  "heed image complete --model runs/mnist t10k-images-idx3-ubyte.gz --output "
                  "halves.png");
  command.action([completed] { complete(*completed); });

  auto enlarged = std::make_shared<ImageArguments>();
  enlarged->count = 8;
  command = image.subcommand("upscale", "Shrink images and draw them large again");
  add_common(command, *enlarged);
  add_files(command, *enlarged);
  command.flag("--small", enlarged->small, "the images are small already; do not shrink them");
  command
      .option(
          "--decoding", enlarged->decoding,
          "sample: level by level, by chance; blockwise: the likeliest levels, as many at once as "
          "the model's proposals deserve")
      .choices({"sample", "blockwise"})
      .show_default();
  command
      .option("--distance", enlarged->distance,
              "levels that a proposal of --decoding blockwise may be off by")
      .range(0, 255)
      .show_default();
  command.example("Enlarge shrunken digits",
                  "heed image upscale --model runs/mnist-enlarge t10k-images-idx3-ubyte.gz "
                  "--output large.png");
  command.action([enlarged] { upscale(*enlarged); });
}

}  // namespace heed::cli
