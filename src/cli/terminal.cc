#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace heed::cli {
namespace {

constexpr size_t kUsualColumns = 80;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread sets any
  return value == nullptr ? "" : value;
}

// Bytes of the first `count` characters.
size_t bytes_of(std::string_view text, size_t count) {
  size_t bytes = 0;
  while (bytes < text.size() && count > 0) {
    ++bytes;
    while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) {
      ++bytes;
    }
    --count;
  }
  return bytes;
}

}  // namespace

bool errors_on_terminal() {
  const std::string_view kind = variable("TERM");
  return ::isatty(STDERR_FILENO) != 0 && !kind.empty() && kind != "dumb";
}

bool errors_in_colour() { return errors_on_terminal() && variable("NO_COLOR").empty(); }

size_t terminal_columns() {
  struct winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string cut_to(std::string_view text, size_t columns) {
  constexpr std::string_view kMore = "...";
  if (characters_in(text) <= columns) {
    return std::string(text);
  }
  return columns < kMore.size()
             ? std::string(text.substr(0, bytes_of(text, columns)))
             : std::string(text.substr(0, bytes_of(text, columns - kMore.size()))).append(kMore);
}

std::string broken_into_lines(std::string_view text, size_t columns) {
  constexpr std::string_view kIndent = "  ";
  std::string lines;
  size_t room = columns;
  while (characters_in(text) > room) {
    const size_t most = bytes_of(text, room);
    size_t end = text.rfind(' ', most);
    if (end == std::string_view::npos || end == 0) {
      end = most;  // a word that is longer than a line
    }
    lines.append(text.substr(0, end)).append("\n").append(kIndent);
    text.remove_prefix(std::min(text.size(), end));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    room = std::max<size_t>(columns, 2 * kIndent.size()) - kIndent.size();
  }
  return lines.append(text);
}

}  // namespace heed::cli
