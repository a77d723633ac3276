// Archives for tests, made by hand so that they can also be wrong.
#pragma once

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/encoding/gzip.h"

namespace heed::testing {

// A stream over a text that gives at most `step` bytes at a time.
inline ReadBytes stream_of_text(std::string text, size_t step = 1000) {
  return [text = std::move(text), step, at = size_t{0}](std::span<std::byte> bytes) mutable {
    const size_t count = std::min({bytes.size(), step, text.size() - at});
    std::copy_n(std::as_bytes(std::span(text)).begin() + static_cast<ptrdiff_t>(at), count,
                bytes.begin());
    at += count;
    return count;
  };
}

inline std::string text_of_stream(const ReadBytes& read) {
  std::string text;
  std::vector<std::byte> buffer(777);
  while (const size_t count = read(buffer)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
  return text;
}

inline std::string gzip_of(const std::string& text) {
  return text_of_stream(packed_stream(stream_of_text(text)));
}

struct TarFields {
  char type = '0';
  std::string prefix = {};
  std::string size = {};  // octal digits; empty: that of the content
};

inline std::string tar_member(const std::string& name, const std::string& content,
                              const TarFields& fields = {}) {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, fields.size.empty() ? fmt::format("{:011o}", content.size()) : fields.size);
  put(148, "        ");
  header[156] = fields.type;
  put(257, std::string("ustar\00000", 8));
  put(345, fields.prefix);
  unsigned sum = 0;
  for (const char character : header) {
    sum += static_cast<unsigned char>(character);
  }
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  const size_t padding = (512 - content.size() % 512) % 512;
  return header + content + std::string(padding, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

inline std::string pax_line(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) {
    ++length;
  }
  return std::to_string(length) + rest;
}

struct ZipEntry {
  std::string name;
  std::string content;
  bool deflated = true;
  uint16_t flags = 0;
  uint32_t mode = 0;       // Unix
  int64_t said_size = -1;  // in the table, instead of the content's
};

inline std::string deflated(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string zip_of(const std::vector<ZipEntry>& entries) {
  std::string bytes;
  std::string table;
  const auto number = [](uint64_t value, size_t length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) {
      text += static_cast<char>(value >> (8 * i) & 0xFF);
    }
    return text;
  };
  for (const ZipEntry& entry : entries) {
    const std::string packed = entry.deflated ? deflated(entry.content) : entry.content;
    const uint32_t crc =
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(entry.content.data()),
                                    static_cast<unsigned>(entry.content.size())));
    const auto size =
        entry.said_size < 0 ? entry.content.size() : static_cast<size_t>(entry.said_size);
    // version, flags, method, time, date, CRC, packed size, size, length of the name, of extras
    const std::string fields = number(20, 2) + number(entry.flags, 2) +
                               number(entry.deflated ? 8 : 0, 2) + number(0, 4) + number(crc, 4) +
                               number(packed.size(), 4) + number(size, 4) +
                               number(entry.name.size(), 2) + number(0, 2);
    // made by Unix; length of the comment, disk, attributes, offset
    table += "PK\1\2" + number(0x0314, 2) + fields + number(0, 6) + number(0, 0) +
             number(static_cast<uint64_t>(entry.mode) << 16, 4) + number(bytes.size(), 4) +
             entry.name;
    bytes += "PK\3\4" + fields + entry.name + packed;
  }
  const size_t begin = bytes.size();
  return bytes + table + "PK\5\6" + number(0, 4) + number(entries.size(), 2) +
         number(entries.size(), 2) + number(table.size(), 4) + number(begin, 4) + number(0, 2);
}

}  // namespace heed::testing
