// Bytes as text and back (RFC 4648). Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heed {

std::string base64(std::string_view bytes);
// With or without padding; nothing if it is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace heed
