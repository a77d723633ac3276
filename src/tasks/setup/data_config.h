// Keys of the section `data` that several tasks have. A task's own config derives from these and
// adds its own.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "data/text/table.h"

namespace heed {

struct BatchConfig {
  int64_t batch_tokens = 4096;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("batch_tokens", batch_tokens, "tokens per batch on each side, padding included",
      {.least = 1, .most = 1 << 24});
  }
};

// Tables of texts, for tasks that read them with an encoder or a decoder.
struct TableConfig : BatchConfig {
  std::vector<std::string> table;
  std::string valid_table, test_table;
  std::string text_column = "1", pair_column;
  int64_t max_length = 128;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("table", table, "TSV files of texts, plain or gzip", {.path = true});
    v("valid_table", valid_table, "held-out table for validation", {.path = true});
    v("test_table", test_table, "held-out table for the final test", {.path = true});
    v("text_column", text_column, "column of the text, by name or by number from 1");
    v("pair_column", pair_column, "column of the second text of a pair; empty: none");
    v("max_length", max_length, "truncate texts to this many tokens", {.least = 1, .most = 100000});
    BatchConfig::fields(v);
  }

  TableColumns columns(const std::string& label = "") const {
    return {.text = text_column, .pair = pair_column, .label = label};
  }
  void check_recipe(const std::string& task, std::string_view where) const {
    check(!table.empty(), "[{}] task {} names no training data: set data.table", where, task);
  }
};

// Tables with a class or a score for each text.
struct LabelledTableConfig : TableConfig {
  std::string label_column = "2";

  template <typename Visitor>
  void fields(Visitor& v) {
    TableConfig::fields(v);
    v("label_column", label_column, "column of the class or score");
  }
};

}  // namespace heed
