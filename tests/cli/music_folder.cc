// Writes a folder with a small model of music for the tests of the program.
// Usage: music_folder FOLDER performance|chorale
#include <fmt/core.h>

#include <exception>
#include <span>
#include <string_view>

#include "support/tiny_music.h"

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (arguments.size() != 3) {
    fmt::print(stderr, "usage: music_folder FOLDER performance|chorale\n");
    return 2;
  }
  try {
    const bool chorale = std::string_view(arguments[2]) == "chorale";
    heed::testing::write_music_folder(
        arguments[1], chorale ? heed::MusicForm::chorale : heed::MusicForm::performance);
  } catch (const std::exception& error) {
    fmt::print(stderr, "music_folder: {}\n", error.what());
    return 1;
  }
  return 0;
}
