// What the program offers, as data: commands with their options, notes and examples. Commands fill
// it through arguments.h; the parser, the help and the messages about mistakes read it.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace heed::cli {

enum class ValueKind { none, text, whole, number };  // none: a flag

struct OptionDefinition {
  std::string name = {};      // "--beam", or "FILE" for a positional argument
  std::string negative = {};  // of a flag: the name that makes it false, "--no-pedal"
  std::string value = {};     // in the help: "N"
  std::string help = {};
  std::string initial = {};  // its default, as one would type it
  std::string section = {};  // in the help; empty: among the others
  ValueKind kind = ValueKind::text;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above = false;  // more than `least`, not `least` itself
  std::vector<std::string> choices = {};
  bool required = false;
  bool list = false;  // may have several values
  bool one_at_a_time = false;
  size_t count = 0;  // of a list: exactly so many; 0: any number
  bool shows_default = false;

  bool positional() const { return !name.empty() && name.front() != '-'; }
};

struct Example {
  std::string what;  // "Translate a file"
  std::string command;
};

struct CommandDefinition {
  std::string path = {};  // "heed image sample"
  std::string name = {};  // "sample"
  std::string help = {};  // "Draw images with a model"
  std::string group = {};
  std::string notes = {};
  bool needs_subcommand = false;
  std::function<void()> action = {};
  std::vector<std::unique_ptr<OptionDefinition>> options = {};
  std::vector<Example> examples = {};
  std::vector<std::unique_ptr<CommandDefinition>> commands = {};
};

// "a whole number from 1 to 256", "one of f32, bf16, int8"
std::string expected_text(const OptionDefinition& option);

// What `heed COMMAND --help` prints.
std::string command_help(const CommandDefinition& command);

// What `heed` alone prints: every command in its group, with an example.
std::string overview(const CommandDefinition& root);

}  // namespace heed::cli
