#include "cli/arguments.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/text.h"
#include "cli/definition.h"

namespace heed::cli {
namespace {

constexpr int kUsageError = 2;

// A mistake on the command line.
struct UsageError {
  std::string text;
};

[[noreturn]] void wrong_value(const OptionDefinition& option, const std::string& value) {
  const bool plain = !value.empty() && value.find(' ') == std::string::npos;
  throw UsageError{fmt::format("{} is {}, expected {}", option.name,
                               plain ? value : fmt::format("\"{}\"", value),
                               expected_text(option))};
}

void check_value(const OptionDefinition& option, const std::string& text, double value) {
  const bool above = option.above ? value > option.least : value >= option.least;
  if (!above || value > option.most) {
    wrong_value(option, text);
  }
}

template <typename T>
T parsed(const OptionDefinition& option, const std::string& text) {
  if constexpr (std::is_arithmetic_v<T>) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::result_out_of_range && rest == end) {
      throw UsageError{fmt::format("{} is {}, which is out of range", option.name, text)};
    }
    if (error != std::errc() || rest != end || !std::isfinite(static_cast<double>(value))) {
      wrong_value(option, text);
    }
    check_value(option, text, static_cast<double>(value));
    return value;
  } else {
    const auto& choices = option.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) {
      wrong_value(option, text);
    }
    return T(text);
  }
}

template <typename T>
struct Held {
  using Type = T;
};
template <typename T>
struct Held<std::optional<T>> {
  using Type = T;
};

template <typename T>
ValueKind kind_of() {
  return std::is_floating_point_v<T> ? ValueKind::number
         : std::is_integral_v<T>     ? ValueKind::whole
                                     : ValueKind::text;
}

// What the help calls a value if the command does not say it.
std::string value_name_of(ValueKind kind) {
  return kind == ValueKind::whole ? "N" : kind == ValueKind::number ? "X" : "TEXT";
}

template <typename T>
OptionDefinition definition_of(const std::string& name, const std::string& help) {
  OptionDefinition definition{.name = name, .help = help};
  definition.kind = kind_of<T>();
  definition.value = value_name_of(definition.kind);
  return definition;
}

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else {
    return fmt::format("{}", value);
  }
}

const CommandDefinition* find(const CommandDefinition& parent, const std::string& name) {
  for (const auto& command : parent.commands) {
    if (command->name == name) {
      return command.get();
    }
  }
  return nullptr;
}

// The command that the arguments lead to.
const CommandDefinition& chosen(const CommandDefinition& root, const CLI::App& app) {
  const std::vector<CLI::App*> found =
      const_cast<CLI::App&>(app).get_subcommands();  // the parsed ones; the library forgot a const
  if (found.empty()) {
    return root;
  }
  const CommandDefinition* command = find(root, found.front()->get_name());
  return command == nullptr ? root : chosen(*command, *found.front());
}

std::vector<std::string> command_names(const CommandDefinition& command) {
  std::vector<std::string> names;
  for (const auto& each : command.commands) {
    names.push_back(each->name);
  }
  return names;
}

std::string unknown_command(const CommandDefinition& parent, const std::string& name) {
  const std::string near = similar(name, command_names(parent));
  return fmt::format("there is no command \"{}\"{}", name,
                     near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
}

// About an argument that no command takes.
std::string unknown(const CommandDefinition& command, const std::string& argument) {
  if (argument.starts_with("-")) {
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> names{"--help"};
    for (const auto& option : command.options) {
      for (const std::string& each : {option->name, option->negative}) {
        if (each.starts_with("-")) {
          names.push_back(each);
        }
      }
    }
    const std::string near = similar(name, names);
    return fmt::format("there is no option {}{}", name,
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }
  if (!command.commands.empty()) {
    return unknown_command(command, argument);
  }
  return fmt::format("unexpected argument \"{}\"", argument);
}

// What the library says of missing values, in our words.
std::string text_of(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.starts_with("-")) {
    return text.substr(0, text.find(':')) + " needs a value";
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return "a flag takes no value";  // values of options are converted here
  }
  return text;
}

}  // namespace

Option& Option::required() {
  definition_->required = true;
  option_->required();
  return *this;
}

Option& Option::show_default() {
  definition_->shows_default = true;
  return *this;
}

Option& Option::range(double least, double most) {
  definition_->least = least;
  definition_->most = most;
  return *this;
}

Option& Option::positive() { return positive(std::numeric_limits<double>::infinity()); }

Option& Option::positive(double most) {
  definition_->above = true;
  return range(0.0, most);
}

Option& Option::not_negative() {
  definition_->least = 0.0;
  return *this;
}

Option& Option::choices(const std::vector<std::string>& choices) {
  definition_->choices = choices;
  definition_->value.clear();
  return *this;
}

Option& Option::separated_by(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option& Option::one_at_a_time() {
  definition_->one_at_a_time = true;
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::count(int values) {
  definition_->count = static_cast<size_t>(values);
  option_->expected(values);
  return *this;
}

Option& Option::value_name(const std::string& name) {
  definition_->value = name;
  return *this;
}

Option& Option::group(const std::string& title) {
  definition_->section = title;
  return *this;
}

Command Command::subcommand(const std::string& name, const std::string& help) {
  auto& definition =
      definition_->commands.emplace_back(std::make_unique<CommandDefinition>(CommandDefinition{
          .path = definition_->path + " " + name, .name = name, .help = help, .group = "Tools"}));
  app_->require_subcommand(0, 1);  // a second name of a command is an argument like others
  return {definition.get(), app_->add_subcommand(name, help)};
}

void Command::require_subcommand() { definition_->needs_subcommand = true; }

Command& Command::group(const std::string& title) {
  definition_->group = title;
  return *this;
}

void Command::footer(const std::string& text) { definition_->notes = text; }

void Command::example(const std::string& what, const std::string& command) {
  definition_->examples.push_back({what, command});
}

void Command::action(const std::function<void()>& run) { definition_->action = run; }

Option Command::add(OptionDefinition definition,
                    const std::function<void(const OptionDefinition&, const Values&)>& set) {
  OptionDefinition* kept =
      definition_->options.emplace_back(std::make_unique<OptionDefinition>(std::move(definition)))
          .get();
  CLI::Option* option = app_->add_option(kept->name, [kept, set](const CLI::results_t& values) {
    set(*kept, values);
    return true;
  });
  option->type_size(1);
  if (kept->list) {
    option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  } else {
    option->allow_extra_args(false);
  }
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return {kept, option};
}

template <typename T>
Option Command::add_scalar(const std::string& name, T& value, const std::string& help) {
  using Type = typename Held<T>::Type;
  OptionDefinition definition = definition_of<Type>(name, help);
  if constexpr (std::is_same_v<Type, T>) {
    definition.initial = shown(value);
  }
  return add(std::move(definition), [&value](const OptionDefinition& option, const Values& given) {
    if (given.size() != 1) {
      throw UsageError{
          fmt::format("{} is given {} times, expected once", option.name, given.size())};
    }
    value = parsed<Type>(option, given.front());
  });
}

template <typename T>
Option Command::add_list(const std::string& name, std::vector<T>& values, const std::string& help) {
  OptionDefinition definition = definition_of<T>(name, help);
  definition.list = true;
  for (const T& value : values) {
    definition.initial += (definition.initial.empty() ? "" : ",") + shown(value);
  }
  return add(std::move(definition), [&values](const OptionDefinition& option, const Values& given) {
    if (option.count > 0 && given.size() != option.count) {
      throw UsageError{fmt::format("{} has {} values, expected {}: {}", option.name, given.size(),
                                   option.count, option.value)};
    }
    values.clear();
    for (const std::string& each : given) {
      values.push_back(parsed<T>(option, each));
    }
  });
}

Option Command::option(const std::string& name, int32_t& value, const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, int64_t& value, const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, uint64_t& value, const std::string& help) {
  Option option = add_scalar(name, value, help);
  return option.not_negative();
}

Option Command::option(const std::string& name, float& value, const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, double& value, const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, std::string& value, const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, std::filesystem::path& value,
                       const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, std::optional<int64_t>& value,
                       const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, std::optional<double>& value,
                       const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, std::optional<std::string>& value,
                       const std::string& help) {
  return add_scalar(name, value, help);
}

Option Command::option(const std::string& name, std::vector<int64_t>& values,
                       const std::string& help) {
  return add_list(name, values, help);
}

Option Command::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) {
  return add_list(name, values, help);
}

Option Command::option(const std::string& name, std::vector<std::filesystem::path>& values,
                       const std::string& help) {
  return add_list(name, values, help);
}

Option Command::option(const std::string& name, const std::function<void(const std::string&)>& set,
                       const std::string& help) {
  return add(definition_of<std::string>(name, help),
             [set](const OptionDefinition& option, const Values& given) {
               set(parsed<std::string>(option, given.back()));
             });
}

Option Command::flag(const std::string& names, bool& value, const std::string& help) {
  auto definition = std::make_unique<OptionDefinition>();
  definition->help = help;
  definition->kind = ValueKind::none;
  const size_t negative = names.find('!');
  definition->name = names.substr(0, std::min(names.find(','), negative));
  definition->negative = negative == std::string::npos ? "" : names.substr(negative + 1);
  CLI::Option* option = app_->add_flag(names, value);
  return {definition_->options.emplace_back(std::move(definition)).get(), option};
}

Program::Program(const ProgramText& text)
    : definition_(std::make_unique<CommandDefinition>(
          CommandDefinition{.path = "heed", .name = "heed", .help = text.description})),
      app_(std::make_unique<CLI::App>(text.description)) {
  definition_->notes = text.footer;
  definition_->needs_subcommand = true;
  definition_->options.push_back(std::make_unique<OptionDefinition>(
      OptionDefinition{.name = "--version", .help = "print the version", .kind = ValueKind::none}));
  app_->set_version_flag("--version", text.version);
}

Program::~Program() = default;

Command Program::root() { return {definition_.get(), app_.get()}; }

void Program::add_help() {
  auto names = std::make_shared<std::vector<std::string>>();
  Command help = root().subcommand("help", "Explain a command");
  help.option("COMMAND", *names, "command, and its subcommand if it has some");
  help.example("Explain how to draw images", "heed help image sample");
  help.action([this, names] {
    const CommandDefinition* command = definition_.get();
    for (const std::string& name : *names) {
      const CommandDefinition* next = find(*command, name);
      if (next == nullptr) {
        throw UsageError{unknown_command(*command, name)};
      }
      command = next;
    }
    fmt::print("{}", names->empty() ? overview(*command) : command_help(*command));
  });
}

int Program::run(int argc, char** argv) {
  add_help();
  app_->allow_extras();  // not before: commands made after it would take options they do not have
  const auto refuse = [&](const std::string& text) {
    fmt::print(stderr, "heed: {} (see {} --help)\n", text, chosen(*definition_, *app_).path);
    return kUsageError;
  };
  try {
    app_->parse(argc, argv);
    const CommandDefinition& command = chosen(*definition_, *app_);
    if (const auto rest = app_->remaining(true); !rest.empty()) {
      return refuse(unknown(command, rest.front()));
    }
    if (command.action) {
      command.action();
    } else if (&command == definition_.get()) {
      fmt::print("{}", overview(command));
    } else {
      return refuse(fmt::format("{} needs a command: {}", command.path,
                                fmt::join(command_names(command), ", ")));
    }
  } catch (const ExitStatus& exit) {
    return exit.status;
  } catch (const UsageError& error) {
    return refuse(error.text);
  } catch (const CLI::CallForHelp&) {
    const CommandDefinition& command = chosen(*definition_, *app_);
    fmt::print("{}", &command == definition_.get() ? overview(command) : command_help(command));
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> rest = app_->remaining(true);
    return refuse(rest.empty() ? text_of(error)
                               : unknown(chosen(*definition_, *app_), rest.front()));
  }
  return 0;
}

}  // namespace heed::cli
