#include "formats/tar.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

// The fields of a header: where they begin and how long they are.
constexpr size_t kNameLength = 100;
constexpr size_t kSizeAt = 124;
constexpr size_t kSizeLength = 12;
constexpr size_t kSumAt = 148;
constexpr size_t kSumLength = 8;
constexpr size_t kTypeAt = 156;
constexpr size_t kMagicAt = 257;
constexpr size_t kPrefixAt = 345;
constexpr size_t kPrefixLength = 155;

constexpr int64_t kLongestText = int64_t{1} << 20;  // of pax headers and long names

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

}  // namespace

TarReader::TarReader(ReadBytes archive, std::string where, int64_t limit)
    : archive_(std::move(archive)), where_(std::move(where)), limit_(limit) {}

// False at the end of the archive.
bool TarReader::read_block(Block& block) {
  size_t filled = 0;
  while (filled < block.size()) {
    const size_t count = archive_(std::span(block).subspan(filled));
    if (count == 0) {
      break;
    }
    filled += count;
  }
  check(filled == 0 || filled == block.size(), "[tar] {} is cut off", where_);
  return filled > 0;
}

void TarReader::read_whole(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t count = archive_(bytes);
    check(count > 0, "[tar] {} is cut off", where_);
    bytes = bytes.subspan(count);
  }
}

void TarReader::skip_rest() {
  std::array<std::byte, 8192> buffer;
  for (int64_t rest = left_ + padding_; rest > 0;) {
    const auto count = std::min<int64_t>(rest, std::ssize(buffer));
    read_whole(std::span(buffer).first(static_cast<size_t>(count)));
    rest -= count;
  }
  left_ = 0;
  padding_ = 0;
}

size_t TarReader::read(std::span<std::byte> bytes) {
  const auto most = static_cast<size_t>(std::min<int64_t>(left_, std::ssize(bytes)));
  if (most == 0) {
    return 0;
  }
  const size_t count = archive_(bytes.first(most));
  check(count > 0, "[tar] {} is cut off", where_);
  left_ -= static_cast<int64_t>(count);
  return count;
}

// Octal digits; or, for what does not fit, a first byte of 0x80 and a big-endian number.
int64_t TarReader::number(const Block& header, size_t at, size_t length) const {
  const auto field = std::span(header).subspan(at, length);
  int64_t value = 0;
  if (field[0] == std::byte{0x80}) {
    for (const std::byte digit : field.subspan(1)) {
      check(value < (int64_t{1} << 54), "[tar] {} has a member that is too large", where_);
      value = value << 8 | std::to_integer<int64_t>(digit);
    }
    return value;
  }
  const std::string text = text_of(field);
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data() + begin, end, value, 8);
  const bool blank = begin == text.size();
  const bool whole =
      blank || (fault == std::errc() && std::all_of(rest, end, [](char c) { return c == ' '; }));
  check(whole && value >= 0, "[tar] {} has a damaged header: \"{}\" is not an octal number", where_,
        text);
  return value;
}

void TarReader::check_header(const Block& header) const {
  int64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool own = i >= kSumAt && i < kSumAt + kSumLength;  // counts as blanks
    sum += own ? ' ' : std::to_integer<int64_t>(header[i]);
  }
  check(sum == number(header, kSumAt, kSumLength),
        "[tar] {} is not a tar archive, or a header of it is damaged", where_);
}

std::string TarReader::read_text() {
  check(left_ <= kLongestText, "[tar] {} has a header of {} bytes, expected at most {}", where_,
        left_, kLongestText);
  std::vector<std::byte> bytes(static_cast<size_t>(left_));
  read_whole(bytes);
  left_ = 0;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Lines "LENGTH KEY=VALUE\n", where LENGTH counts the whole line.
TarReader::Pax TarReader::read_pax() {
  const std::string text = read_text();
  Pax values;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    const auto [rest, fault] = std::from_chars(text.data() + at, text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(rest - (text.data() + at));
    check(fault == std::errc() && length > digits + 2 && length <= text.size() - at &&
              *rest == ' ' && text[at + length - 1] == '\n',
          "[tar] {} has a damaged pax header", where_);
    const std::string line = text.substr(at + digits + 1, length - digits - 2);
    const size_t equals = line.find('=');
    check(equals != std::string::npos, "[tar] {} has a damaged pax header", where_);
    values[line.substr(0, equals)] = line.substr(equals + 1);
    at += length;
  }
  return values;
}

// The size that a header says, unless the pax header before it says another.
int64_t TarReader::member_size(const Block& header, const Pax& pax) const {
  int64_t size = number(header, kSizeAt, kSizeLength);
  if (const auto given = pax.find("size"); given != pax.end()) {
    const char* end = given->second.data() + given->second.size();
    const auto [rest, fault] = std::from_chars(given->second.data(), end, size);
    check(fault == std::errc() && rest == end && size >= 0, "[tar] {} has a member of size \"{}\"",
          where_, given->second);
  }
  check(size <= limit_, "[tar] {} unpacks to more than it may: a member has {} bytes, {} are left",
        where_, size, limit_);
  return size;
}

std::string TarReader::member_name(const Block& header, const Pax& pax) {
  if (const auto given = pax.find("path"); given != pax.end()) {
    return given->second;
  }
  const std::string name = text_of(std::span(header).first(kNameLength));
  const std::string prefix = text_of(std::span(header).subspan(kPrefixAt, kPrefixLength));
  // GNU's archives, whose magic has no zero behind it, keep other things there.
  const bool posix = text_of(std::span(header).subspan(kMagicAt, 6)) == "ustar";
  return posix && !prefix.empty() ? prefix + "/" + name : name;
}

std::optional<ArchiveMember> TarReader::next() {
  Pax pax;  // of the next member
  Block header;
  while (true) {
    skip_rest();
    const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
    if (!read_block(header) || std::all_of(header.begin(), header.end(), zero)) {
      return std::nullopt;
    }
    check_header(header);
    const char type = std::to_integer<char>(header[kTypeAt]);
    const bool about_next = type == 'x' || type == 'L';
    left_ = member_size(header, about_next ? Pax{} : pax);
    padding_ = -left_ & (static_cast<int64_t>(kBlock) - 1);
    if (type == 'x') {
      pax = read_pax();
    } else if (type == 'L') {
      const std::string name = read_text();
      pax["path"] = name.substr(0, name.find('\0'));
    } else if (type != 'g') {  // which is about the whole archive: git's commit
      std::string name = member_name(header, pax);
      pax.clear();
      if (type == '5' || name.ends_with('/')) {
        continue;  // a folder; the oldest archives show it by the name alone
      }
      check(type == '0' || type == '7' || type == '\0',
            "[tar] {}: {} is a link or a device, expected regular files", where_, name);
      check_member_name(name, where_);
      limit_ -= left_;
      return ArchiveMember{std::move(name), left_};
    }
  }
}

}  // namespace heed
