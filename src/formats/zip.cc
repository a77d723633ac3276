#include "formats/zip.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace heed {
namespace {

constexpr uint32_t kEndMark = 0x06054B50;
constexpr uint32_t kEntryMark = 0x02014B50;
constexpr uint32_t kHeaderMark = 0x04034B50;
constexpr size_t kEndSize = 22;
constexpr size_t kEntrySize = 46;
constexpr size_t kHeaderSize = 30;
constexpr size_t kLongestComment = 65535;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint32_t kInZip64 = 0xFFFFFFFF;
constexpr uint32_t kUnixLink = 0120000;
constexpr uint32_t kUnixKind = 0170000;

// Little-endian; the caller has checked that the bytes are there.
uint32_t number(std::span<const std::byte> bytes, size_t at, size_t length) {
  uint32_t value = 0;
  for (size_t i = 0; i < length; ++i) {
    value |= std::to_integer<uint32_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}
uint16_t short_at(std::span<const std::byte> bytes, size_t at) {
  return static_cast<uint16_t>(number(bytes, at, 2));
}
uint32_t long_at(std::span<const std::byte> bytes, size_t at) { return number(bytes, at, 4); }

// Unpacks while it is read. More than expected is an Error, so that nobody unpacks without end.
class Inflater {
 public:
  Inflater(std::span<const std::byte> packed, const ZipFile::Member& member, std::string where)
      : packed_(packed), member_(member), where_(std::move(where)) {
    check(::inflateInit2(&stream_, -MAX_WBITS) == Z_OK, "[zip] zlib cannot begin");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed_.data()));
    stream_.avail_in = static_cast<unsigned>(packed_.size());
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  size_t read(std::span<std::byte> bytes) {
    if (ended_) {
      return 0;
    }
    const size_t count = member_.method == kStored ? take(bytes) : inflate(bytes);
    done_ += static_cast<int64_t>(count);
    sum_ = static_cast<uint32_t>(
        ::crc32(sum_, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<unsigned>(count)));
    check(done_ <= member_.size, "[zip] {}: {} unpacks to more than the {} bytes it should have",
          where_, member_.name, member_.size);
    if (count == 0) {
      ended_ = true;
      check(done_ == member_.size && sum_ == member_.crc,
            "[zip] {}: {} is damaged: {} bytes with CRC {:08x}, expected {} with {:08x}", where_,
            member_.name, done_, sum_, member_.size, member_.crc);
    }
    return count;
  }

 private:
  size_t take(std::span<std::byte> bytes) {
    const size_t count = std::min(bytes.size(), packed_.size());
    std::copy_n(packed_.begin(), count, bytes.begin());
    packed_ = packed_.subspan(count);
    return count;
  }

  size_t inflate(std::span<std::byte> bytes) {
    constexpr size_t kMost = size_t{1} << 20;
    const auto room = static_cast<unsigned>(std::min(bytes.size(), kMost));
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = room;
    const int code = finished_ ? Z_STREAM_END : ::inflate(&stream_, Z_NO_FLUSH);
    finished_ = code == Z_STREAM_END;
    check(finished_ || (code == Z_OK && stream_.avail_out < room), "[zip] {}: {} is damaged",
          where_, member_.name);
    return room - stream_.avail_out;
  }

  std::span<const std::byte> packed_;
  ZipFile::Member member_;
  std::string where_;
  z_stream stream_ = {};
  bool finished_ = false;  // the deflated data
  bool ended_ = false;     // and its checks
  int64_t done_ = 0;
  uint32_t sum_ = 0;
};

// Where the table's end stands: before a comment, so from behind.
std::optional<size_t> find_end(std::span<const std::byte> bytes) {
  if (bytes.size() < kEndSize) {
    return std::nullopt;
  }
  const size_t last = bytes.size() - kEndSize;
  for (size_t back = 0; back <= std::min(last, kLongestComment); ++back) {
    const size_t at = last - back;
    if (long_at(bytes, at) == kEndMark && short_at(bytes, at + 20) == back) {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace

ZipFile::ZipFile(std::span<const std::byte> bytes, std::string where)
    : bytes_(bytes), where_(std::move(where)) {
  read_table();
}

void ZipFile::read_table() {
  const std::optional<size_t> end = find_end(bytes_);
  check(end.has_value(), "[zip] {} is not a zip archive, or it is cut off", where_);
  const size_t count = short_at(bytes_, *end + 10);
  size_t at = long_at(bytes_, *end + 16);
  for (size_t i = 0; i < count; ++i) {
    check(at <= *end && *end - at >= kEntrySize && long_at(bytes_, at) == kEntryMark,
          "[zip] {} has a damaged table, or is too large", where_);
    const uint16_t flags = short_at(bytes_, at + 8);
    const size_t name_size = short_at(bytes_, at + 28);
    const size_t behind = name_size + short_at(bytes_, at + 30) + short_at(bytes_, at + 32);
    check(*end - at - kEntrySize >= behind, "[zip] {} has a damaged table", where_);
    Member member;
    member.name =
        std::string(reinterpret_cast<const char*>(bytes_.data() + at + kEntrySize), name_size);
    member.method = short_at(bytes_, at + 10);
    member.crc = long_at(bytes_, at + 16);
    member.packed = long_at(bytes_, at + 20);
    member.size = long_at(bytes_, at + 24);
    member.offset = long_at(bytes_, at + 42);
    const uint32_t mode = long_at(bytes_, at + 38) >> 16;
    at += kEntrySize + behind;
    if (member.name.ends_with('/')) {
      continue;
    }
    check_member_name(member.name, where_);
    check((flags & 1) == 0, "[zip] {}: {} is encrypted", where_, member.name);
    check((mode & kUnixKind) != kUnixLink, "[zip] {}: {} is a link, expected regular files", where_,
          member.name);
    check(member.method == kStored || member.method == kDeflated,
          "[zip] {}: {} is packed by method {}, expected 0 (stored) or 8 (deflated)", where_,
          member.name, member.method);
    check(member.packed != kInZip64 && member.size != kInZip64 && member.offset != kInZip64,
          "[zip] {}: {} is larger than 4 GiB", where_, member.name);
    members_.push_back(std::move(member));
  }
}

ReadBytes ZipFile::open(const Member& member) const {
  const size_t at = member.offset;
  check(at <= bytes_.size() && bytes_.size() - at >= kHeaderSize &&
            long_at(bytes_, at) == kHeaderMark,
        "[zip] {}: the header of {} is damaged", where_, member.name);
  const size_t begin = at + kHeaderSize + short_at(bytes_, at + 26) + short_at(bytes_, at + 28);
  check(begin <= bytes_.size() && bytes_.size() - begin >= member.packed, "[zip] {}: {} is cut off",
        where_, member.name);
  return
      [inflater = std::make_shared<Inflater>(bytes_.subspan(begin, member.packed), member, where_)](
          std::span<std::byte> bytes) { return inflater->read(bytes); };
}

}  // namespace heed
