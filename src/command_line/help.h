// The help of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line/command.h"

namespace heed::cli {

constexpr std::string_view kHelp = "--help", kShortHelp = "-h", kVersion = "--version";

// One line of a list of options or commands.
struct HelpRow {
  std::string name, value, text;  // "--beam", "N", "beam width [1]"; value is empty where there is none
};
std::vector<HelpRow> rows_of_options(const Command& command);   // --help and --version too
std::vector<HelpRow> rows_of_commands(const Command& command);  // without the hidden ones

// "heed translate --model DIR [OPTIONS]"; `path` is "heed translate".
std::string usage(const Command& command, std::string_view path);

// The complete help: summary, usage, options and commands.
std::string help(const Command& command, std::string_view path);

}  // namespace heed::cli
