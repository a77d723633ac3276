#include "data/text/table.h"

#include <charconv>
#include <optional>

#include "base/error.h"
#include "data/text/lines.h"

namespace heed {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  size_t begin = 0;
  for (size_t tab = line.find('\t'); tab != std::string::npos; tab = line.find('\t', begin)) {
    cells.push_back(line.substr(begin, tab - begin));
    begin = tab + 1;
  }
  cells.push_back(line.substr(begin));
  return cells;
}

std::optional<size_t> number_of(const std::string& column) {
  size_t number = 0;
  const char* end = column.data() + column.size();
  const auto result = std::from_chars(column.data(), end, number);
  return result.ec == std::errc() && result.ptr == end && number > 0 ? std::optional(number - 1)
                                                                     : std::nullopt;
}

// The columns of one file, found in its first line where they have names.
class Columns {
 public:
  explicit Columns(const TableColumns& wanted) : wanted_(wanted) {
    for (const std::string* column : {&wanted_.text, &wanted_.pair, &wanted_.label}) {
      named_ = named_ || (!column->empty() && !number_of(*column));
    }
  }

  bool named() const { return named_; }

  void read_names(std::vector<std::string> names, const std::string& file) {
    names_ = std::move(names);
    file_ = file;
    for (const std::string* column : {&wanted_.text, &wanted_.pair, &wanted_.label}) {
      if (!column->empty()) {
        place_of(*column);  // is there
      }
    }
  }

  LabelledText pick(const std::vector<std::string>& cells, const LineReader& lines) const {
    return {pick(wanted_.text, cells, lines), pick(wanted_.pair, cells, lines),
            pick(wanted_.label, cells, lines),
            fmt::format("{}:{}", lines.name(), lines.line_number())};
  }

 private:
  std::string pick(const std::string& column, const std::vector<std::string>& cells,
                   const LineReader& lines) const {
    if (column.empty()) {
      return "";
    }
    const size_t at = place_of(column);
    check(at < cells.size(), "[{}:{}] has {} columns, expected column {}", lines.name(),
          lines.line_number(), cells.size(), column);
    return cells[at];
  }

  size_t place_of(const std::string& column) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == column) {
        return i;
      }
    }
    const std::optional<size_t> number = number_of(column);
    check(number.has_value(), "[{}] has no column {}; its columns are: {}", file_, column,
          joined_names());
    return *number;
  }

  std::string joined_names() const {
    std::string all;
    for (const std::string& name : names_) {
      all += (all.empty() ? "" : ", ") + name;
    }
    return all;
  }

  TableColumns wanted_;
  bool named_ = false;
  std::vector<std::string> names_;
  std::string file_;
};

// The next line, the first one without a byte order mark.
bool next_line(LineReader& lines, std::string& line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const bool found = lines.next(line);
  if (found && lines.line_number() == 1 && line.starts_with(kByteOrderMark)) {
    line.erase(0, kByteOrderMark.size());
  }
  return found;
}

bool blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

LabelledTexts read_table(const std::vector<std::string>& files, const TableColumns& columns) {
  LabelledTexts table;
  int64_t skipped = 0;
  std::string first;
  for (const std::string& file : files) {
    Columns picked(columns);
    LineReader lines(file);
    std::string line;
    if (picked.named()) {
      check(next_line(lines, line), "[{}] is empty, expected a line with the columns' names", file);
      picked.read_names(cells_of(line), file);
    }
    while (next_line(lines, line)) {
      LabelledText row = picked.pick(cells_of(line), lines);
      const bool whole = !blank(row.text) && (columns.pair.empty() || !blank(row.pair)) &&
                         (columns.label.empty() || !blank(row.label));
      if (whole) {
        table.rows.push_back(std::move(row));
        continue;
      }
      first = ++skipped == 1 ? row.where : first;
    }
  }
  check(!table.rows.empty(), "[table] {} has no row with a text and a label",
        files.empty() ? "nothing" : files.front());
  if (skipped > 0) {
    table.skipped =
        fmt::format("skipped {} rows without text or label, the first is {}", skipped, first);
  }
  return table;
}

}  // namespace heed
