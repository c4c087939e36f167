// Parsing a command line.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "command_line/command.h"

namespace heed::cli {

// Either a text to print (help or version) or a function to run.
struct Request {
  std::string text;
  std::function<void()> run;
  std::string command;  // that is run: "heed tokenizer train"
  Processes processes = Processes::one;
};

// `words` are those after the program's name. Options are `--name value` or `--name=value`, anywhere after their
// command's name; after `--` all words are positional. A command that only has subcommands, given alone, shows its
// help. ConfigError for an unknown option or command (naming the nearest one, and all), a duplicate, a missing or
// invalid value, an empty path, a word too many, a missing required option, and an option without the one that it
// needs. Options before the error may have been set by then.
Request parse(const Command& program, std::span<const std::string> words);

}  // namespace heed::cli
