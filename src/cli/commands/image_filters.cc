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
  check_output("--output", arguments.output, {".png"});
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
        "--size is {}, expected WIDTHxHEIGHT such as 320x200", text);
}

void grow_texture(TextureArguments arguments) {
  check_output("--output", arguments.output, {".png"});
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
  Command command = image.subcommand("denoise", "Remove noise from an image by non-local means");
  command.option("INPUT", arguments->input, "noisy PNG file, grey or RGB").required();
  command.option("--output", arguments->output, "PNG file to write").value_name("FILE").required();
  command
      .option("--sigma", options.sigma,
              "standard deviation of the noise, for pixels from 0 to 255 (default: estimated)")
      .range(0.0, 255.0);
  command.option("--patch", options.patch,
                 "width of the patches to compare, odd (default: 3 to 11, by sigma)");
  command.option("--search", options.search, "width of the search window, odd").show_default();
  command.option("--decay", options.decay,
                 "h of exp(-distance / h^2) (default: 0.3 to 0.55 times sigma)");
  command
      .option("--reference", arguments->reference,
              "PNG file without the noise; prints the PSNR before and after")
      .value_name("FILE");
  command.example("Remove noise", "heed image denoise noisy.png --output clean.png");
  command.example("Measure how much noise of a known strength is removed",
                  "heed image denoise noisy.png --sigma 25 --reference photo.png --output "
                  "clean.png");
  command.action([arguments] { denoise(*arguments); });
}

void add_texture(Command& image) {
  auto arguments = std::make_shared<TextureArguments>();
  TextureOptions& options = arguments->options;
  Command command = image.subcommand(
      "texture", "Grow a larger texture from a sample, pixel by pixel (Efros and Leung)");
  command.option("INPUT", arguments->input, "sample, a PNG file, grey or RGB").required();
  command.option("--output", arguments->output, "PNG file to write").value_name("FILE").required();
  command.option("--size", arguments->size, "size of the result in pixels")
      .value_name("WIDTHxHEIGHT")
      .required();
  command
      .option("--window", options.window,
              "width of the neighbourhood to compare, odd: about the size of what repeats")
      .show_default();
  command
      .option("--epsilon", options.epsilon,
              "choose among matches whose error is at most this share above the best one's")
      .show_default();
  command.flag("--extend", options.extend,
               "grow around the whole sample instead of 3 x 3 pixels of it");
  command.option("--seed", options.seed, "random seed of the texture").show_default();
  command.footer(
      "The time grows with the number of pixels of the result, of the sample and of the window.");
  command.example("Grow a wall from a few bricks",
                  "heed image texture bricks.png --size 256x256 --output wall.png");
  command.example("Grow around the sample, with a larger window",
                  "heed image texture bricks.png --size 128x128 --window 15 --extend --output "
                  "wall.png");
  command.action([arguments] { grow_texture(*arguments); });
}

}  // namespace

void add_image_filters(Command& image) {
  add_denoise(image);
  add_texture(image);
}

}  // namespace heed::cli
