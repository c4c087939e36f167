// Completion of command lines in shells, from the table of commands.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "command_line/command.h"
#include "heed/types/names.h"

namespace heed::cli {

enum class Shell : uint8_t { bash, zsh, fish };

inline constexpr std::array<NamedValue<Shell>, 3> kShellNames{
    {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}}};

// A script for the shell that completes commands, options, the names of enums' values, and paths.
std::string completion(const Command& program, Shell shell);

}  // namespace heed::cli
