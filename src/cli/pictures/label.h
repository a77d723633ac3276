// Tokens as labels: any bytes become valid UTF-8 that can be shown. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heed::cli {

std::string encode_utf8(std::u32string_view text);

// Valid UTF-8 that XML can hold, on one line: control characters are spelt out, "\n" or "\x01".
std::string printable(std::string_view text);

// As the content of an XML element or attribute; control characters, which XML cannot hold, become
// spaces.
std::string escape_xml(std::string_view text);

// At most `length` characters, the last being an ellipsis if some are left out.
std::string shortened(std::string_view text, size_t length);

}  // namespace heed::cli
