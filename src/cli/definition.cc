#include "cli/definition.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heed::cli {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kHelpColumn = 26;
// Limits above it only guard against overflow; the help does not mention them.
constexpr double kPracticalLimit = 1 << 20;

// Characters, not bytes: examples have umlauts.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) {
      words.emplace_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return words;
}

// Words in lines, all but the first of which begin with `indent` spaces; the first begins at
// `column`.
std::string wrapped(std::string_view text, size_t column, size_t indent) {
  std::string lines;
  bool first = true;
  for (const std::string& word : split_words(text)) {
    if (!first && column + 1 + width_of(word) > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += width_of(word);
    first = false;
  }
  return lines;
}

// A line of a table, "  name  text": the text is wrapped in its column. A line with one column
// stays as it is.
std::string wrapped_row(std::string_view line) {
  const size_t name = line.find_first_not_of(' ');
  const size_t gap = line.find("  ", name);
  const size_t column = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return column == std::string_view::npos
             ? std::string(line)
             : std::string(line.substr(0, column)) + wrapped(line.substr(column), column, column);
}

// Paragraphs are wrapped; lines that begin with a space are rows of a table.
std::string wrapped_notes(std::string_view notes) {
  std::string text;
  for (size_t begin = 0; begin <= notes.size();) {
    const size_t end = std::min(notes.find('\n', begin), notes.size());
    const std::string_view line = notes.substr(begin, end - begin);
    text += line.starts_with(' ') ? wrapped_row(line) : wrapped(line, 0, 0);
    text += '\n';
    begin = end + 1;
  }
  return text;
}

// The words of a shell command; what stands in quotes is one word.
std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  bool quoted = false;
  bool inside = false;
  for (const char c : command) {
    if (c == ' ' && !quoted) {
      inside = false;
      continue;
    }
    quoted = c == '\'' ? !quoted : quoted;
    if (!inside) {
      words.emplace_back();
      inside = true;
    }
    words.back() += c;
  }
  return words;
}

// A command in lines that a shell joins again. An option stays with its value.
std::string wrapped_command(std::string_view command) {
  std::vector<std::string> parts;
  for (const std::string& word : shell_words(command)) {
    const bool goes_with_option = !parts.empty() && parts.back().starts_with("--") &&
                                  !word.starts_with("--") && word != "|" && word != ">" &&
                                  parts.back().find(' ') == std::string::npos;
    if (goes_with_option || (!parts.empty() && (parts.back() == "|" || parts.back() == ">"))) {
      parts.back() += " " + word;
    } else {
      parts.push_back(word);
    }
  }
  std::string lines = "  ";
  size_t column = 2;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t behind = i + 1 < parts.size() ? 2 : 0;  // room for " \"
    if (i > 0 && column + 1 + width_of(parts[i]) + behind > kWidth) {
      lines += " \\\n     ";
      column = 5;
    }
    lines += (i > 0 ? " " : "") + parts[i];
    column += (i > 0 ? 1 : 0) + width_of(parts[i]);
  }
  return lines + "\n";
}

// "1 to 256", "at least 1", "above 0"; empty if anything goes.
std::string range_text(const OptionDefinition& option, double limit) {
  const std::string least = fmt::format("{:.15g}", option.least);
  const std::string most = fmt::format("{:.15g}", option.most);
  const bool below = std::isfinite(option.most) && option.most < limit;
  if (!std::isfinite(option.least)) {
    return below ? "at most " + most : "";
  }
  if (option.above) {
    return below ? fmt::format("above {}, up to {}", least, most) : "above " + least;
  }
  return below ? fmt::format("{} to {}", least, most) : "at least " + least;
}

std::string value_text(const OptionDefinition& option) {
  if (!option.value.empty()) {
    return option.value;
  }
  return option.choices.empty() ? "" : fmt::format("{}", fmt::join(option.choices, "|"));
}

std::string title_of(const OptionDefinition& option) {
  if (option.positional()) {
    return option.name + (option.list ? "..." : "");
  }
  if (option.kind == ValueKind::none) {
    return option.name.empty()       ? option.negative
           : option.negative.empty() ? option.name
                                     : option.name + ", " + option.negative;
  }
  return option.name + " " + value_text(option);
}

// The help and, in parentheses, what is accepted and the default.
std::string option_text(const OptionDefinition& option) {
  std::vector<std::string> facts;
  if (option.required && !option.positional()) {
    facts.emplace_back("required");
  }
  if (option.list && option.one_at_a_time) {
    facts.emplace_back("repeatable");
  }
  const bool names_choices = !option.value.empty() || option.positional();
  if (!option.choices.empty() && names_choices) {
    facts.push_back(fmt::format("{}", fmt::join(option.choices, ", ")));
  }
  if (const std::string range = range_text(option, kPracticalLimit);
      !range.empty() && range != "at least 0") {
    facts.push_back(range);
  }
  if (option.shows_default && !option.initial.empty()) {
    facts.push_back("default: " + option.initial);
  }
  if (facts.empty()) {
    return option.help;
  }
  // A help that ends in parentheses goes on in them.
  return option.help.ends_with(')')
             ? fmt::format("{}; {})", option.help.substr(0, option.help.size() - 1),
                           fmt::join(facts, "; "))
             : fmt::format("{} ({})", option.help, fmt::join(facts, "; "));
}

std::string entry(const std::string& title, const std::string& text) {
  std::string line = "  " + title;
  if (width_of(line) + 2 > kHelpColumn) {
    line += "\n" + std::string(kHelpColumn, ' ');
  } else {
    line += std::string(kHelpColumn - width_of(line), ' ');
  }
  return line + wrapped(text, kHelpColumn, kHelpColumn) + "\n";
}

std::string usage(const CommandDefinition& command) {
  std::string text = "Usage: " + command.path;
  if (!command.commands.empty()) {
    text += command.needs_subcommand ? " COMMAND" : " [COMMAND]";
  }
  bool others = false;
  for (const auto& option : command.options) {
    if (option->required && !option->positional()) {
      text += " " + title_of(*option);
    }
    others |= !option->required && !option->positional();
  }
  text += others || !command.commands.empty() ? " [OPTIONS]" : "";
  for (const auto& option : command.options) {
    if (option->positional()) {
      text += option->required ? " " + title_of(*option) : " [" + title_of(*option) + "]";
    }
  }
  return wrapped(text, 0, 7) + "\n";
}

std::string options_help(const CommandDefinition& command) {
  std::string arguments;
  std::string options;
  std::vector<std::pair<std::string, std::string>> sections;
  for (const auto& option : command.options) {
    const std::string line = entry(title_of(*option), option_text(*option));
    if (option->positional()) {
      arguments += line;
    } else if (option->section.empty()) {
      options += line;
    } else {
      if (sections.empty() || sections.back().first != option->section) {
        sections.emplace_back(option->section, "");
      }
      sections.back().second += line;
    }
  }
  std::string text = arguments.empty() ? "" : "\nArguments:\n" + arguments;
  text += "\nOptions:\n" + options + entry("-h, --help", "show this help");
  for (const auto& [title, lines] : sections) {
    text += "\n" + title + ":\n" + lines;
  }
  return text;
}

}  // namespace

std::string expected_text(const OptionDefinition& option) {
  if (!option.choices.empty()) {
    return fmt::format("one of {}", fmt::join(option.choices, ", "));
  }
  const std::string range = range_text(option, std::numeric_limits<double>::infinity());
  const bool from_to = !option.above && std::isfinite(option.least) && std::isfinite(option.most);
  const std::string limits = range.empty() ? ""
                                           : (from_to        ? " from "
                                              : option.above ? " "
                                                             : ", ") +
                                                 range;
  if (option.kind == ValueKind::whole) {
    return "a whole number" + limits;
  }
  return option.kind == ValueKind::number ? "a number" + limits : "a text";
}

std::string command_help(const CommandDefinition& command) {
  std::string text = usage(command) + "\n" + wrapped(command.help + ".", 0, 0) + "\n";
  if (!command.commands.empty()) {
    text += "\nCommands:\n";
    for (const auto& each : command.commands) {
      text += entry(each->name, each->help);
    }
  }
  text += options_help(command);
  if (!command.notes.empty()) {
    text += "\n" + wrapped_notes(command.notes);
  }
  if (!command.examples.empty()) {
    text += command.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const Example& example : command.examples) {
      text += "  # " + example.what + "\n" + wrapped_command(example.command);
    }
  }
  return text;
}

std::string overview(const CommandDefinition& root) {
  std::vector<std::string> groups;
  for (const auto& command : root.commands) {
    if (std::find(groups.begin(), groups.end(), command->group) == groups.end()) {
      groups.push_back(command->group);
    }
  }
  std::string text = wrapped(root.help, 0, 0) + "\n\n" + usage(root);
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const auto& command : root.commands) {
      if (command->group != group) {
        continue;
      }
      text += fmt::format("  {:<11} {}\n", command->name, command->help);
      if (!command->examples.empty()) {
        text += fmt::format("      {}\n", command->examples.front().command);
      }
    }
  }
  return text + "\n" + wrapped_notes(root.notes);
}

}  // namespace heed::cli
