// What standard error is connected to, and text that fits on it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heed::cli {

// Standard error is a terminal that can move its cursor.
bool errors_on_terminal();
// It has colours, and nobody asked for none (NO_COLOR).
bool errors_in_colour();
// Columns of that terminal; 80 if it does not say.
size_t terminal_columns();

// Characters of UTF-8.
size_t characters_in(std::string_view text);
// The first characters; what is cut off shows as "...".
std::string cut_to(std::string_view text, size_t columns);
// Broken at spaces into lines of at most so many characters, all but the first indented.
std::string broken_into_lines(std::string_view text, size_t columns);

}  // namespace heed::cli
