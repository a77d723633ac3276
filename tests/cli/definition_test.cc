// The help as it is made from what commands say of themselves.
#include "cli/definition.h"

#include <gtest/gtest.h>

#include <sstream>

namespace heed::cli {
namespace {

OptionDefinition beam() {
  OptionDefinition option{.name = "--beam", .value = "N", .help = "beam size", .initial = "4"};
  option.kind = ValueKind::whole;
  option.least = 1;
  option.most = 256;
  option.shows_default = true;
  return option;
}

CommandDefinition command() {
  CommandDefinition command{
      .path = "heed translate", .name = "translate", .help = "Translate lines of text"};
  command.group = "Text";
  command.options.push_back(std::make_unique<OptionDefinition>(beam()));
  command.options.push_back(std::make_unique<OptionDefinition>(
      OptionDefinition{.name = "FILE", .help = "text to translate"}));
  command.examples.push_back({"Translate", "heed translate test.en"});
  return command;
}

TEST(Definition, ExpectedText) {
  OptionDefinition option = beam();
  EXPECT_EQ(expected_text(option), "a whole number from 1 to 256");
  option.most = std::numeric_limits<double>::infinity();
  EXPECT_EQ(expected_text(option), "a whole number, at least 1");
  option.kind = ValueKind::number;
  option.least = 0;
  option.most = 1;
  option.above = true;
  EXPECT_EQ(expected_text(option), "a number above 0, up to 1");
  EXPECT_EQ(expected_text({.name = "--kind", .choices = {"a", "b"}}), "one of a, b");
}

TEST(Definition, CommandHelp) {
  EXPECT_EQ(command_help(command()),
            "Usage: heed translate [OPTIONS] [FILE]\n\n"
            "Translate lines of text.\n\n"
            "Arguments:\n"
            "  FILE                    text to translate\n\n"
            "Options:\n"
            "  --beam N                beam size (1 to 256; default: 4)\n"
            "  -h, --help              show this help\n\n"
            "Example:\n"
            "  # Translate\n"
            "  heed translate test.en\n");
}

TEST(Definition, LimitsThatOnlyGuardAreNotShown) {
  CommandDefinition with = command();
  with.options[0]->most = 1 << 30;
  EXPECT_NE(command_help(with).find("(at least 1; default: 4)"), std::string::npos);
  EXPECT_EQ(expected_text(*with.options[0]), "a whole number from 1 to 1073741824");
}

TEST(Definition, NotesMayBeTables) {
  CommandDefinition with = command();
  with.notes = "Cases:\n  one  " + std::string(72, 'x') + " yy\n  stays as it is";
  EXPECT_NE(command_help(with).find("Cases:\n  one  " + std::string(72, 'x') +
                                    "\n       yy\n  stays as it is\n"),
            std::string::npos);
}

// Long texts are broken between words, and commands where a shell joins them again.
TEST(Definition, Wraps) {
  CommandDefinition with = command();
  for (int i = 0; i < 30; ++i) {
    with.options[0]->help += " and more words";
    with.notes += "notes of many words ";
    with.examples[0].command += " --name 'a value'";
  }
  std::istringstream lines(command_help(with));
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    if (line.ends_with(" \\")) {
      joined += line.substr(line.find_first_not_of(' '));
      joined.pop_back();
    } else if (!joined.empty()) {
      joined += line.substr(line.find_first_not_of(' '));
      EXPECT_EQ(joined, with.examples[0].command);
      joined.clear();
    }
  }
}

TEST(Definition, OverviewByGroup) {
  CommandDefinition root{.path = "heed", .name = "heed", .help = "Heed."};
  root.notes = "More.";
  root.needs_subcommand = true;
  root.commands.push_back(std::make_unique<CommandDefinition>(command()));
  EXPECT_EQ(overview(root),
            "Heed.\n\nUsage: heed COMMAND [OPTIONS]\n\nText:\n"
            "  translate   Translate lines of text\n"
            "      heed translate test.en\n\nMore.\n");
}

}  // namespace
}  // namespace heed::cli
