#include "cli/pictures/page.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "cli/pictures/label.h"

namespace heed::embedded {
extern const std::string_view page_css;
extern const std::string_view page_js;
}  // namespace heed::embedded

namespace heed::cli {
namespace {

// Only a "<" could end the script element or begin a comment in it.
std::string safe_in_script(const nlohmann::json& data) {
  std::string safe;
  for (const char c : data.dump()) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string fill_page(std::string_view page, std::string_view title, const nlohmann::json& data) {
  // The page is cut at its marks once, so that a text which looks like a mark stays a text.
  const std::array<std::pair<std::string_view, std::string>, 4> fillings{
      {{"{{title}}", escape_xml(printable(title))},
       {"{{style}}", std::string(embedded::page_css)},
       {"{{data}}", safe_in_script(data)},
       {"{{script}}", std::string(embedded::page_js)}}};
  std::string filled;
  for (const auto& [mark, filling] : fillings) {
    const size_t at = page.find(mark);
    check(at != std::string_view::npos, "[page] there is no mark {}", mark);
    filled.append(page.substr(0, at)).append(filling);
    page.remove_prefix(at + mark.size());
  }
  return filled.append(page);
}

}  // namespace heed::cli
