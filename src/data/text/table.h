// Tables of labelled texts: TSV files, plain or gzip, with or without a line of names on top.
#pragma once

#include <string>
#include <vector>

namespace heed {

// Columns by name, then the first line holds the names, or by number from 1. Empty: the table has
// no such column.
struct TableColumns {
  std::string text = "1";
  std::string pair = "";
  std::string label = "2";
};

struct LabelledText {
  std::string text;
  std::string pair;
  std::string label;
  std::string where = {};  // file:line
};

struct LabelledTexts {
  std::vector<LabelledText> rows;
  std::string skipped;  // which lines had an empty text or label; empty: none
};

// A line with too few columns, or a column that is not there, is an Error that names file and line.
LabelledTexts read_table(const std::vector<std::string>& files, const TableColumns& columns);

}  // namespace heed
