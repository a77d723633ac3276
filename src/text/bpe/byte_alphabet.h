// GPT-2's way to write any bytes as visible text: each of the 256 bytes has a character of its own.
// Those that Latin-1 shows stand for themselves, the others for U+0100 and on: a space is "Ġ", a
// line end "Ċ". Pure functions; may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heed {

std::string to_byte_alphabet(std::string_view bytes);

// Nothing if there is a character that stands for no byte.
std::optional<std::string> from_byte_alphabet(std::string_view text);

// All bytes in the order of their characters, which is that of GPT-2's first 256 ids.
const std::array<uint8_t, 256>& byte_alphabet_order();

}  // namespace heed
