#include "cli/pictures/page.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/pictures/label.h"

namespace heed::embedded {
extern const std::string_view head_html;
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

// The page is cut at its marks once, so that a text which looks like a mark stays a text.
using Filling = std::pair<std::string_view, std::string>;
std::string fill(std::string_view page, const std::vector<Filling>& fillings) {
  std::string filled;
  for (const auto& [mark, filling] : fillings) {
    const size_t at = page.find(mark);
    check(at != std::string_view::npos, "[page] there is no mark {}", mark);
    filled.append(page.substr(0, at)).append(filling);
    page.remove_prefix(at + mark.size());
  }
  return filled.append(page);
}

}  // namespace

std::string fill_page(std::string_view page, std::string_view title, const nlohmann::json& data) {
  const std::string head =
      fill(embedded::head_html, {{"{{title}}", escape_xml(printable(title))},
                                 {"{{style}}", std::string(embedded::page_css)}});
  return fill(page, {{"{{head}}", head},
                     {"{{data}}", safe_in_script(data)},
                     {"{{script}}", std::string(embedded::page_js)}});
}

}  // namespace heed::cli
