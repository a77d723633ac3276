#include "cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

namespace heed::cli {
namespace {

constexpr int kUsageError = 2;

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::range(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option& Option::choices(const std::vector<std::string>& choices) {
  option_->check(CLI::IsMember(choices));
  return *this;
}

Option& Option::separated_by(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option& Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::count(int values) {
  option_->expected(values);
  return *this;
}

Option& Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::group(const std::string& title) {
  option_->group(title);
  return *this;
}

Command Command::subcommand(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

void Command::require_subcommand() { app_->require_subcommand(1); }

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::action(const std::function<void()>& run) { app_->callback(run); }

Option Command::option(const std::string& name, int32_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, int64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, uint64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, float& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, double& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::string& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::filesystem::path& value,
                       const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::optional<int64_t>& value,
                       const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::optional<double>& value,
                       const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::optional<std::string>& value,
                       const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::vector<int64_t>& values,
                       const std::string& help) {
  return Option(app_->add_option(name, values, help));
}

Option Command::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) {
  return Option(app_->add_option(name, values, help));
}

Option Command::option(const std::string& name, std::vector<std::filesystem::path>& values,
                       const std::string& help) {
  return Option(app_->add_option(name, values, help));
}

Option Command::option(const std::string& name, const std::function<void(const std::string&)>& set,
                       const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, set, help));
}

Option Command::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}

Program::Program(const ProgramText& text) : app_(std::make_unique<CLI::App>(text.description)) {
  app_->set_version_flag("--version", text.version);
  app_->require_subcommand(1);
  app_->footer(text.footer);
}

Program::~Program() = default;

Command Program::root() { return Command(app_.get()); }

int Program::run(int argc, char** argv) {
  app_->allow_extras();  // not before: commands made after it would take options they do not have
  try {
    app_->parse(argc, argv);
  } catch (const ExitStatus& exit) {
    return exit.status;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app_->exit(error);  // --help and --version
    }
    const std::vector<std::string> rest = app_->remaining(true);
    fmt::print(
        stderr, "heed: {} (see heed --help)\n",
        rest.empty() ? std::string(error.what()) : fmt::format("there is no \"{}\"", rest.front()));
    return kUsageError;
  }
  return 0;
}

}  // namespace heed::cli
