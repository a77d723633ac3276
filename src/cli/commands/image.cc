// `heed image`: everything about images; each group of its commands is a file of its own.
#include "cli/command.h"

namespace heed::cli {

void add_image(Command& app) {
  Command image = app.subcommand("image", "Draws, completes, enlarges, denoises and grows images");
  image.require_subcommand();
  image.footer(
      "Examples:\n  heed image sample --model runs/digits --output digits.png\n"
      "  heed image draw photo --noise 25 --output noisy.png\n"
      "  heed image denoise noisy.png --output clean.png\n"
      "  heed image texture bricks.png --size 256x256 --output wall.png");
  add_image_models(image);
  add_image_filters(image);
  add_image_files(image);
}

}  // namespace heed::cli
