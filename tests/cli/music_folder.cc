// Writes a folder with a small model of music for the tests of the program.
// Usage: music_folder FOLDER performance|chorale [accompany]
#include <fmt/core.h>

#include <exception>
#include <span>
#include <string_view>

#include "support/tiny_music.h"

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (arguments.size() != 3 && arguments.size() != 4) {
    fmt::print(stderr, "usage: music_folder FOLDER performance|chorale [accompany]\n");
    return 2;
  }
  try {
    const bool chorale = std::string_view(arguments[2]) == "chorale";
    const auto form = chorale ? heed::MusicForm::chorale : heed::MusicForm::performance;
    if (arguments.size() == 4) {
      heed::testing::write_music_folder(arguments[1], form, heed::testing::tiny_accompanist());
    } else {
      heed::testing::write_music_folder(arguments[1], form);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "music_folder: {}\n", error.what());
    return 1;
  }
  return 0;
}
