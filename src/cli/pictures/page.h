// What the pages that need nothing but themselves are made with. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heed::cli {

// A page of the folder web with its marks filled in, which stand in this order: {{head}} for
// head.html, which has the title and page.css, {{data}}, {{script}} for page.js. No text of title
// or data can break out of its place.
std::string fill_page(std::string_view page, std::string_view title, const nlohmann::json& data);

}  // namespace heed::cli
