// `heed image draw` and `heed image unpack`: images made by rules, and CIFAR-10 out of PNG sheets.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "data/images/drawings.h"
#include "data/images/images.h"
#include "formats/cifar.h"
#include "image/quality.h"

namespace heed::cli {
namespace {

struct DrawArguments {
  std::string kind, output;
  DrawnImages drawn{.kind = "", .seed = 1, .first = 0, .count = 100};
  int64_t side = 512;
  bool grey = false;
  double noise = 0.0;
};

struct UnpackArguments {
  std::string sheet, labels, output;
  size_t first = 0;
};

void draw(const DrawArguments& arguments) {
  check_output("--output", arguments.output, {".png"});
  Image image;
  ShareProgress progress;
  progress.doing("drawing");
  if (arguments.kind == "photo") {
    image = draw_photograph(
        {.side = arguments.side, .channels = arguments.grey ? 1 : 3, .seed = arguments.drawn.seed});
  } else {
    DrawnImages drawn = arguments.drawn;
    drawn.kind = arguments.kind;
    const ImageSet set = prepared(draw_images(drawn), {.grey = arguments.grey});
    const auto root = std::ceil(std::sqrt(static_cast<double>(set.count())));
    image = contact_sheet(set, static_cast<int64_t>(root));
  }
  if (arguments.noise > 0.0) {
    image = with_noise(image, arguments.noise, arguments.drawn.seed);
  }
  write_png(arguments.output, image);
  progress.clear();
  fmt::print("{}: {} x {}\n", arguments.output, image.width, image.height);
}

// `count` labels from the `first` on.
std::vector<uint8_t> read_labels(const std::string& path, size_t first, size_t count) {
  using Json = nlohmann::json;
  Json json;
  try {
    json = Json::parse(read_file(path));
  } catch (const Json::exception& error) {
    fail("[image] {} is not JSON: {}", path, error.what());
  }
  check(json.is_array(), "[image] {} holds {}, expected a list of labels", path, json.type_name());
  check(first <= json.size() && count <= json.size() - first,
        "[image] {} has {} labels, expected {} from {} on", path, json.size(), count, first);
  std::vector<uint8_t> labels;
  for (size_t i = first; i < first + count; ++i) {
    const bool is_label = json[i].is_number_unsigned() && json[i] < kCifarClasses.size();
    check(is_label, "[image] {}: label {} is {}, expected 0 to {}", path, i, json[i].dump(),
          kCifarClasses.size() - 1);
    labels.push_back(json[i].get<uint8_t>());
  }
  return labels;
}

void unpack(const UnpackArguments& arguments) {
  check_output(arguments.output);
  const Image sheet = read_png(arguments.sheet);
  const auto labels =
      read_labels(arguments.labels, arguments.first, static_cast<size_t>(sheet.height));
  write_file(arguments.output, encode_cifar(cifar_of_sheet(sheet, labels)));
  fmt::print("{}: {} images\n", arguments.output, labels.size());
}

void add_draw(Command& image) {
  auto arguments = std::make_shared<DrawArguments>();
  Command command = image.subcommand("draw", "Draw images by rules, to train on or to denoise");
  command.option("KIND", arguments->kind, "what to draw")
      .required()
      .choices({"digits", "shapes", "photo"});
  command.option("--output", arguments->output, "PNG file to write").value_name("FILE").required();
  command.option("--count", arguments->drawn.count, "number of digits or shapes, in a grid")
      .show_default()
      .range(1, 10000);
  command.option("--first", arguments->drawn.first, "index of the first digit or shape")
      .show_default()
      .not_negative();
  command.option("--side", arguments->side, "width and height of a photo")
      .show_default()
      .range(1, 8192);
  command.option("--seed", arguments->drawn.seed, "random seed of the drawings").show_default();
  command.option("--noise", arguments->noise, "add noise of this standard deviation")
      .show_default()
      .range(0.0, 255.0);
  command.flag("--grey", arguments->grey, "draw one channel instead of three");
  command.example("Draw 100 digits", "heed image draw digits --output digits.png");
  command.example("Draw 64 shapes",
                  "heed image draw shapes --count 64 --seed 2 --output shapes.png");
  command.example("Draw a grey photograph with noise",
                  "heed image draw photo --grey --noise 25 --output noisy.png");
  command.action([arguments] { draw(*arguments); });
}

void add_unpack(Command& image) {
  auto arguments = std::make_shared<UnpackArguments>();
  Command command = image.subcommand(
      "unpack", "Convert a PNG sheet of CIFAR-10, one image per row, to its binary format");
  command.option("SHEET", arguments->sheet, "PNG file, 1024 pixels wide").required();
  command.option("LABELS", arguments->labels, "JSON file, a list of labels").required();
  command.option("--first", arguments->first, "index of the first row's label in the list")
      .show_default();
  command.option("--output", arguments->output, "binary file to write")
      .value_name("FILE")
      .required();
  command.footer("tools/cifar10.sh converts all of CIFAR-10.");
  command.example("Convert the second batch",
                  "heed image unpack data_batch_2.png train_lables.json --first 10000 --output "
                  "data_batch_2.bin");
  command.action([arguments] { unpack(*arguments); });
}

}  // namespace

void add_image_files(Command& image) {
  add_draw(image);
  add_unpack(image);
}

}  // namespace heed::cli
