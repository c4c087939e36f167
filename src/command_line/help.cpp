#include "command_line/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heed::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kMaxNameWidth = 30;  // a longer one gets a line of its own

std::string shown_name(const Option& option) {
  return option.is_positional() || option.value.empty() ? option.name : option.name + " " + option.value;
}

std::string shown_help(const Option& option) {
  std::string text = option.help;
  if (option.presence == Presence::required) {
    text += " (required)";
  }
  if (option.takes == Takes::one_word_each_time) {
    text += " (repeatable)";
  }
  if (!option.standard.empty()) {
    text += fmt::format(" [{}]", option.standard);
  }
  return text;
}

// Wraps the text into lines that fit beside a margin; a word that is longer than a line is not split.
std::string wrapped(std::string_view text, size_t margin) {
  std::string result;
  size_t column = margin;
  while (!text.empty()) {
    const size_t length = std::min(text.find(' '), text.size());
    if (column > margin && column + 1 + length > kColumns) {
      result += "\n" + std::string(margin, ' ');
      column = margin;
    } else if (column > margin) {
      result += ' ';
      ++column;
    }
    result += text.substr(0, length);
    column += length;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return result;
}

std::string section(std::string_view title, const std::vector<HelpRow>& rows) {
  const auto shown = [](const HelpRow& row) { return row.value.empty() ? row.name : row.name + " " + row.value; };
  size_t width = 0;
  for (const HelpRow& row : rows) {
    const size_t length = shown(row).size();
    width = std::max(width, length <= kMaxNameWidth ? length : 0);
  }
  const size_t margin = width + 4;
  std::string text = fmt::format("\n{}:\n", title);
  for (const HelpRow& row : rows) {
    const std::string name = shown(row);
    text += name.size() <= width ? fmt::format("  {:<{}}  ", name, width)
                                 : fmt::format("  {}\n{}", name, std::string(margin, ' '));
    text += wrapped(row.text, margin) + "\n";
  }
  return text;
}

}  // namespace

std::vector<HelpRow> rows_of_options(const Command& command) {
  std::vector<HelpRow> rows;
  for (const Option& option : command.options) {
    rows.push_back({option.name, option.is_positional() ? std::string() : option.value, shown_help(option)});
  }
  rows.push_back({std::string(kHelp), "", "show this"});
  if (!command.version.empty()) {
    rows.push_back({std::string(kVersion), "", "show the version"});
  }
  return rows;
}

std::vector<HelpRow> rows_of_commands(const Command& command) {
  std::vector<HelpRow> rows;
  for (const Command& one : command.commands) {
    if (one.shown == Shown::yes) {
      rows.push_back({one.name, "", one.summary});
    }
  }
  return rows;
}

std::string usage(const Command& command, std::string_view path) {
  std::string text(path);
  for (const Option& option : command.options) {
    if (option.presence == Presence::required) {
      text += " " + shown_name(option);
    } else if (option.is_positional()) {
      text += fmt::format(" [{}]", option.name);
    }
  }
  return text + (command.commands.empty() ? " [OPTIONS]" : " COMMAND");
}

std::string help(const Command& command, std::string_view path) {
  std::string text = fmt::format("{}: {}\n\nUsage: {}\n", path, command.summary, usage(command, path));
  if (!command.commands.empty()) {
    text += section("Commands", rows_of_commands(command));
  }
  text += section("Options", rows_of_options(command));
  return command.footer.empty() ? text : text + "\n" + command.footer + "\n";
}

}  // namespace heed::cli
