// read_png_images and read_png_files: PNG files as one set.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "base/parallel.h"
#include "data/images/images.h"
#include "data/images/resize.h"
#include "data/skipped_files.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

struct PngFile {
  fs::path path;
  std::string name;        // inside the folder
  std::string class_name;  // empty: directly in the folder
};

std::vector<PngFile> find_files(const fs::path& folder) {
  std::error_code error;
  check(fs::is_directory(folder, error), "[images] {} is not a folder", folder.string());
  std::vector<PngFile> files;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (std::error_code ignored; entry->is_regular_file(ignored) && is_png(entry->path())) {
      const fs::path name = entry->path().lexically_relative(folder);
      files.push_back({entry->path(), name.generic_string(),
                       name.has_parent_path() ? name.begin()->string() : std::string()});
    }
  }
  check(!error, "[images] cannot search {}: {}", folder.string(), error.message());
  check(!files.empty(), "[images] {} holds no .png file", folder.string());
  std::ranges::sort(files, {},
                    [](const PngFile& file) { return std::tie(file.class_name, file.name); });
  return files;
}

struct Reading {
  std::optional<Image> image;
  std::string fault;
};

Reading read_resized(const PngFile& file, int64_t height, int64_t width) {
  try {
    const Image image = read_png(file.path);
    return {resized(image.channels == 4 ? as_rgb(image) : image, height, width), ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

// Files in the order of their classes. `where` is for errors.
ImageSet read_set(const std::vector<PngFile>& files, const std::string& where, int64_t height,
                  int64_t width) {
  check(height > 0 && width > 0, "[images] to {} x {}, expected 1 or more each way", height, width);
  const bool has_classes =
      std::ranges::any_of(files, [](const PngFile& file) { return !file.class_name.empty(); });
  std::vector<Reading> readings(files.size());
  parallel_tasks(std::ssize(files), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    readings[at] = has_classes && files[at].class_name.empty()
                       ? Reading{std::nullopt, fmt::format("[images] {} stands beside folders of "
                                                           "classes, so it has none",
                                                           files[at].path.string())}
                       : read_resized(files[at], height, width);
  });

  ImageSet set;
  set.height = height;
  set.width = width;
  std::vector<std::string> faults;
  for (const Reading& reading : readings) {
    set.channels = reading.image && reading.image->channels != 1 ? 3 : set.channels;
    if (!reading.image) {
      faults.push_back(reading.fault);
    }
  }
  check(faults.size() < files.size(), "[images] none of the {} PNG files in {} can be used; {}",
        files.size(), where, faults.empty() ? "" : faults.front());
  set.skipped = describe_skipped("PNG", faults);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!readings[i].image) {
      continue;
    }
    // The files are sorted by class.
    if (has_classes && (set.class_names.empty() || set.class_names.back() != files[i].class_name)) {
      set.class_names.push_back(files[i].class_name);
    }
    if (has_classes) {
      set.labels.push_back(static_cast<int32_t>(set.class_names.size()) - 1);
    }
    const Image image = set.channels == 3 ? as_rgb(*readings[i].image) : *readings[i].image;
    set.pixels.insert(set.pixels.end(), image.pixels.begin(), image.pixels.end());
  }
  set.classes = std::ssize(set.class_names);
  return set;
}

}  // namespace

bool is_png(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png";
}

ImageSet read_png_images(const fs::path& folder, int64_t height, int64_t width) {
  return read_set(find_files(folder), folder.string(), height, width);
}

ImageSet read_png_files(std::span<const fs::path> paths, int64_t height, int64_t width) {
  std::vector<PngFile> files;
  for (const fs::path& path : paths) {
    check(is_png(path), "[images] {} is not a PNG file, but {} is; expected one kind of file",
          path.string(), paths.front().string());
    files.push_back({path, path.string(), ""});
  }
  return read_set(files, paths.front().parent_path().string(), height, width);
}

}  // namespace heed
