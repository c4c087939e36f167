// The help of a command.
#pragma once

#include <string>
#include <string_view>

#include "command_line/command.h"

namespace heed::cli {

constexpr std::string_view kHelp = "--help", kShortHelp = "-h", kVersion = "--version";

// "heed translate --model DIR [OPTIONS]"; `path` is "heed translate".
std::string usage(const Command& command, std::string_view path);

// The complete help: summary, usage, options and commands.
std::string help(const Command& command, std::string_view path);

}  // namespace heed::cli
