// What archives have in common: members with names, whoever packed them. An archive may come from
// anywhere, so a name that leads out of the folder it is unpacked into is an Error, and so are
// links, of which no data set needs any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace heed {

struct ArchiveMember {
  std::string name;  // as check_member_name() wants it
  int64_t size = 0;  // unpacked
};

// A relative path, "/" between its parts, none of which is empty, "." or "..".
inline void check_member_name(std::string_view name, const std::string& where) {
  bool safe = !name.empty();
  for (size_t begin = 0; safe && begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    safe = !part.empty() && part != "." && part != "..";
    begin = end + 1;
  }
  for (const char character : name) {
    safe = safe && static_cast<unsigned char>(character) >= ' ' && character != '\\';
  }
  check(safe, "[archive] {} has a member \"{}\", whose name is not that of a file inside a folder",
        where, name);
}

}  // namespace heed
