// `heed image denoise` and `heed image texture`: what was done with likeness before attention was
// learned.
#include <fmt/core.h>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "image/non_local_means.h"
#include "image/quality.h"
#include "image/texture.h"

namespace heed::cli {
namespace {

struct DenoiseArguments {
  std::string input, output, reference;
  NonLocalMeansOptions options;
};

struct TextureArguments {
  std::string input, output, size;
  TextureOptions options;
};

void denoise(DenoiseArguments arguments) {
  const Image noisy = read_png(arguments.input);
  Image clean;
  if (!arguments.reference.empty()) {
    clean = read_png(arguments.reference);
    psnr(noisy, clean);  // says before the work whether they can be compared
  }
  const double sigma = arguments.options.sigma ? *arguments.options.sigma : estimated_sigma(noisy);
  Image denoised;
  double seconds = 0.0;
  {
    ShareProgress progress;
    arguments.options.sigma = sigma;
    arguments.options.progress = [&](double done) { progress.show(done); };
    denoised = non_local_means(noisy, arguments.options);
    seconds = progress.seconds();
  }
  write_png(arguments.output, denoised);
  fmt::print("{}: {} x {}, noise of sigma {:.2f}, {:.2f} s\n", arguments.output, denoised.width,
             denoised.height, sigma, seconds);
  if (!arguments.reference.empty()) {
    fmt::print("PSNR {:.2f} dB before, {:.2f} dB after\n", psnr(noisy, clean),
               psnr(denoised, clean));
  }
}

// "320x200": width and height.
void parse_size(std::string_view text, TextureOptions& options) {
  const char* end = text.data() + text.size();
  const auto [middle, width_fault] = std::from_chars(text.data(), end, options.width);
  const bool has_cross = width_fault == std::errc() && middle != end && *middle == 'x';
  const char* rest = has_cross ? middle + 1 : end;
  const auto [last, height_fault] = std::from_chars(rest, end, options.height);
  check(has_cross && height_fault == std::errc() && last == end,
        "[image] --size is {}, expected WIDTHxHEIGHT such as 320x200", text);
}

void grow_texture(TextureArguments arguments) {
  parse_size(arguments.size, arguments.options);
  const Image sample = read_png(arguments.input);
  Image texture;
  double seconds = 0.0;
  {
    ShareProgress progress;
    arguments.options.progress = [&](double done) { progress.show(done); };
    texture = grown_texture(sample, arguments.options);
    seconds = progress.seconds();
  }
  write_png(arguments.output, texture);
  fmt::print("{}: {} x {} from {} x {}, {:.2f} s\n", arguments.output, texture.width,
             texture.height, sample.width, sample.height, seconds);
}

void add_denoise(Command& image) {
  auto arguments = std::make_shared<DenoiseArguments>();
  NonLocalMeansOptions& options = arguments->options;
  Command command =
      image.subcommand("denoise", "Takes noise out of a PNG image by non-local means");
  command.option("input", arguments->input, "Noisy PNG file, grey or RGB").required();
  command.option("--output", arguments->output, "PNG file to write").required();
  command
      .option("--sigma", options.sigma,
              "Standard deviation of the noise, of 255 (default: estimated)")
      .range(0.0, 255.0);
  command.option("--patch", options.patch,
                 "Width of the patches that are compared, odd (default: by sigma, 3 to 11)");
  command.option("--search", options.search, "Width of the window that is searched, odd")
      .show_default();
  command.option("--decay", options.decay,
                 "h of exp(-distance / h^2) (default: by sigma, 0.3 to 0.55 of it)");
  command.option("--reference", arguments->reference,
                 "The image without noise: prints PSNR before and after");
  command.footer(
      "Examples:\n  heed image denoise noisy.png --output clean.png\n"
      "  heed image draw photo --output photo.png\n"
      "  heed image draw photo --noise 25 --output noisy.png\n"
      "  heed image denoise noisy.png --sigma 25 --reference photo.png --output clean.png");
  command.action([arguments] { denoise(*arguments); });
}

void add_texture(Command& image) {
  auto arguments = std::make_shared<TextureArguments>();
  TextureOptions& options = arguments->options;
  Command command = image.subcommand(
      "texture", "Grows a larger texture from a sample, pixel by pixel (Efros and Leung)");
  command.option("input", arguments->input, "Sample, a PNG file, grey or RGB").required();
  command.option("--output", arguments->output, "PNG file to write").required();
  command.option("--size", arguments->size, "Size of the result, WIDTHxHEIGHT").required();
  command
      .option("--window", options.window,
              "Width of the surroundings that are compared, odd: about the size of what "
              "repeats")
      .show_default();
  command
      .option("--epsilon", options.epsilon,
              "Places up to this share worse than the best one may be drawn")
      .show_default();
  command.flag("--extend", options.extend,
               "Grow around the whole sample instead of 3 x 3 pixels of it");
  command.option("--seed", options.seed, "Another seed, another texture").show_default();
  command.footer(
      "The time grows with the pixels of the result, of the sample and of the window.\n\n"
      "Examples:\n  heed image texture bricks.png --size 256x256 --output wall.png\n"
      "  heed image texture bricks.png --size 128x128 --window 15 --extend --output wall.png");
  command.action([arguments] { grow_texture(*arguments); });
}

}  // namespace

void add_image_filters(Command& image) {
  add_denoise(image);
  add_texture(image);
}

}  // namespace heed::cli
