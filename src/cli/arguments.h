// The command line: commands, their options and what runs. Only arguments.cc includes the library
// that parses, which takes seconds to compile; a command sees the three classes below. What they
// are told is kept as data (definition.h), from which the help and all messages are made.
//
//   Command command = app.subcommand("fill", "Predict the words behind each [MASK]").group("Text");
//   command.option("FILE", arguments->file, "lines with [MASK] (default: standard input)");
//   command.option("--top", arguments->k, "words to list per mask").range(1, 10000).show_default();
//   command.example("Complete a sentence", "echo 'a [MASK] day' | heed fill --model bert");
//   command.action([arguments] { fill_lines(*arguments); });
//
// Command and Option are handles; what they stand for lives as long as the Program. The variables
// that options fill have to live until the action has run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heed::cli {

struct CommandDefinition;
struct OptionDefinition;

class Option {
 public:
  Option(OptionDefinition* definition, CLI::Option* option)
      : definition_(definition), option_(option) {}

  Option& required();
  Option& show_default();
  Option& range(double least, double most);  // both included
  Option& positive();
  Option& positive(double most);
  Option& not_negative();
  Option& choices(const std::vector<std::string>& choices);
  Option& separated_by(char separator);         // of a list: "a,b" is two values
  Option& one_at_a_time();                      // of a list: "--stop a --stop b"
  Option& count(int values);                    // of a list: exactly so many
  Option& value_name(const std::string& name);  // in the help
  Option& group(const std::string& title);      // in the help

 private:
  OptionDefinition* definition_;
  CLI::Option* option_;
};

class Command {
 public:
  Command(CommandDefinition* definition, CLI::App* app) : definition_(definition), app_(app) {}

  Command subcommand(const std::string& name, const std::string& help);
  void require_subcommand();
  Command& group(const std::string& title);  // of commands, in the overview
  void footer(const std::string& text);      // notes below the options
  // A command to copy, and what it does: "Translate a file".
  void example(const std::string& what, const std::string& command);
  void action(const std::function<void()>& run);

  // A name without dashes is that of a positional argument.
  Option option(const std::string& name, int32_t& value, const std::string& help);
  Option option(const std::string& name, int64_t& value, const std::string& help);
  Option option(const std::string& name, uint64_t& value, const std::string& help);
  Option option(const std::string& name, float& value, const std::string& help);
  Option option(const std::string& name, double& value, const std::string& help);
  Option option(const std::string& name, std::string& value, const std::string& help);
  Option option(const std::string& name, std::filesystem::path& value, const std::string& help);
  Option option(const std::string& name, std::optional<int64_t>& value, const std::string& help);
  Option option(const std::string& name, std::optional<double>& value, const std::string& help);
  Option option(const std::string& name, std::optional<std::string>& value,
                const std::string& help);
  Option option(const std::string& name, std::vector<int64_t>& values, const std::string& help);
  Option option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  Option option(const std::string& name, std::vector<std::filesystem::path>& values,
                const std::string& help);
  Option option(const std::string& name, const std::function<void(const std::string&)>& set,
                const std::string& help);
  // "--floor,!--no-floor": the second name makes it false.
  Option flag(const std::string& names, bool& value, const std::string& help);

 private:
  using Values = std::vector<std::string>;
  Option add(OptionDefinition definition,
             const std::function<void(const OptionDefinition&, const Values&)>& set);
  template <typename T>
  Option add_scalar(const std::string& name, T& value, const std::string& help);
  template <typename T>
  Option add_list(const std::string& name, std::vector<T>& values, const std::string& help);

  CommandDefinition* definition_;
  CLI::App* app_;
};

// Thrown by an action that has said all there is to say: the program ends with this status.
struct ExitStatus {
  int status;
};

struct ProgramText {
  std::string description;
  std::string version;
  std::string footer;
};

class Program {
 public:
  explicit Program(const ProgramText& text);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root();
  // Runs the action of the command that is asked for; faults of the command line go to standard
  // error. The status to exit with.
  int run(int argc, char** argv);

 private:
  void add_help();

  std::unique_ptr<CommandDefinition> definition_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace heed::cli
