// `heed image`: everything about images; each group of its commands is a file of its own.
#include "cli/command.h"

namespace heed::cli {

void add_image(Command& app) {
  Command image = app.subcommand("image", "Draw, complete, enlarge and denoise images");
  image.group("Images");
  image.require_subcommand();
  image.example("Draw images with a model",
                "heed image sample --model runs/digits --output digits.png");
  image.example("Draw a photograph by rules, with noise",
                "heed image draw photo --noise 25 --output noisy.png");
  image.example("Remove noise", "heed image denoise noisy.png --output clean.png");
  image.example("Grow a texture", "heed image texture bricks.png --size 256x256 --output wall.png");
  add_image_models(image);
  add_image_filters(image);
  add_image_files(image);
}

}  // namespace heed::cli
