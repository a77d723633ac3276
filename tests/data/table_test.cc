// Tables of labelled texts: columns by name and by number, and what is wrong with them.
#include "data/text/table.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

using Cells = std::vector<std::vector<std::string>>;

Cells cells(const LabelledTexts& table) {
  Cells result;
  for (const LabelledText& row : table.rows) {
    result.push_back({row.text, row.pair, row.label});
  }
  return result;
}

struct TableTest : ::testing::Test {
  std::string write(const std::string& bytes, const std::string& name = "t.tsv") {
    return folder.write(name, bytes).string();
  }
  LabelledTexts read(const std::string& bytes, const TableColumns& columns = {}) {
    return read_table({write(bytes)}, columns);
  }
  std::string error(const std::string& bytes, const TableColumns& columns = {}) {
    return error_of([&] { read(bytes, columns); });
  }
  std::string file() const { return (folder / "t.tsv").string(); }

  TemporaryFolder folder;
};

TEST_F(TableTest, FindsColumnsByNumber) {
  EXPECT_EQ(cells(read("a b\t1\nc\t0")), (Cells{{"a b", "", "1"}, {"c", "", "0"}}));
  EXPECT_EQ(cells(read("0\tx\ta\r\n1\ty\tb\r\n", {.text = "3", .pair = "2", .label = "1"})),
            (Cells{{"a", "x", "0"}, {"b", "y", "1"}}));
  EXPECT_EQ(cells(read("a\n", {.text = "1", .pair = "", .label = ""})), (Cells{{"a", "", ""}}));
  // One column may be taken twice, and others be left.
  EXPECT_EQ(cells(read("a\tb\tc\n", {.text = "2", .pair = "", .label = "2"})),
            (Cells{{"b", "", "b"}}));
}

TEST_F(TableTest, FindsColumnsByName) {
  const std::string table = "label\tsentence\tother\n1\tgood\tx\n0\tbad\ty\n";
  const TableColumns names{.text = "sentence", .pair = "", .label = "label"};
  EXPECT_EQ(cells(read(table, names)), (Cells{{"good", "", "1"}, {"bad", "", "0"}}));
  // One name is enough to make the first line one of names.
  EXPECT_EQ(cells(read(table, {.text = "sentence", .pair = "3", .label = "1"})),
            (Cells{{"good", "x", "1"}, {"bad", "y", "0"}}));
  // A name that looks like a number is a name first.
  EXPECT_EQ(cells(read("2\ttext\na\tb\n", {.text = "text", .pair = "", .label = "2"})),
            (Cells{{"b", "", "a"}}));
}

TEST_F(TableTest, EachFileHasNamesOfItsOwn) {
  const std::string a = write("text\tlabel\nx\t1\n", "a.tsv");
  const std::string b = write("label\ttext\n0\ty\n", "b.tsv");
  const LabelledTexts table = read_table({a, b}, {.text = "text", .pair = "", .label = "label"});
  EXPECT_EQ(cells(table), (Cells{{"x", "", "1"}, {"y", "", "0"}}));
  EXPECT_EQ(table.rows[0].where, a + ":2");
  EXPECT_EQ(table.rows[1].where, b + ":2");
}

TEST_F(TableTest, ByteOrderMarkIsNoPartOfTheText) {
  EXPECT_EQ(cells(read("\xEF\xBB\xBFtext\tlabel\na\t1\n",
                       {.text = "text", .pair = "", .label = "label"})),
            (Cells{{"a", "", "1"}}));
  EXPECT_EQ(cells(read("\xEF\xBB\xBF"
                       "a\t1\n")),
            (Cells{{"a", "", "1"}}));
}

TEST_F(TableTest, ReadsGzip) {
  const std::string packed = folder.write_gzip("t.gz", "a\t1\nb\t0\n").string();
  EXPECT_EQ(cells(read_table({packed}, {})), (Cells{{"a", "", "1"}, {"b", "", "0"}}));
}

TEST_F(TableTest, SkipsEmptyCellsAndSaysSo) {
  EXPECT_EQ(read("a\t1\n").skipped, "");
  const LabelledTexts table = read("a\t1\n\t1\nb\t\n  \t0\nc\t0\n");
  EXPECT_EQ(cells(table), (Cells{{"a", "", "1"}, {"c", "", "0"}}));
  EXPECT_EQ(table.rows[1].where, file() + ":5");
  EXPECT_EQ(table.skipped,
            fmt::format("skipped 3 rows without text or label, the first is {}:2", file()));
  const TableColumns pairs{.text = "1", .pair = "2", .label = ""};
  EXPECT_EQ(cells(read("a\t\t1\nb\tc\t\n", pairs)), (Cells{{"b", "c", ""}}));
}

TEST_F(TableTest, SaysWhatIsWrong) {
  EXPECT_EQ(error("a\t1\nb\n"), fmt::format("[{}:2] has 1 columns, expected column 2", file()));
  const TableColumns names{.text = "text", .pair = "", .label = "label"};
  EXPECT_EQ(error("text\tlabel\na\t1\nb\n", names),
            fmt::format("[{}:3] has 1 columns, expected column label", file()));
  EXPECT_EQ(error("text\tlabels\na\t1\n", names),
            fmt::format("[{}] has no column label; its columns are: text, labels", file()));
  EXPECT_EQ(error("a\t1\n", {.text = "0", .pair = "", .label = "2"}),
            fmt::format("[{}] has no column 0; its columns are: a, 1", file()));
  EXPECT_EQ(error("", names),
            fmt::format("[{}] is empty, expected a line with the columns' names", file()));
  const std::string none = fmt::format("[table] {} has no row with a text and a label", file());
  EXPECT_EQ(error(""), none);
  EXPECT_EQ(error("text\tlabel\n", names), none);
  EXPECT_EQ(error("\t\n"), none);
  EXPECT_NE(error_of([&] { read_table({file() + ".no"}, {}); }).find("t.tsv.no"),
            std::string::npos);
}

}  // namespace
}  // namespace heed::testing
