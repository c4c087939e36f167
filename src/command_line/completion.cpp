#include "command_line/completion.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "command_line/help.h"

namespace heed::cli {
namespace {

// A command with the words that lead to it.
struct Place {
  const Command* command;
  std::string path;  // "heed tokenizer train"
};

void add_places(const Command& command, const std::string& path, std::vector<Place>& places) {
  places.push_back({&command, path});
  for (const Command& one : command.commands) {
    if (one.shown == Shown::yes) {
      add_places(one, path + " " + one.name, places);
    }
  }
}

std::vector<Place> places_of(const Command& program) {
  std::vector<Place> places;
  add_places(program, program.name, places);
  return places;
}

// All that may stand where no value is expected.
std::vector<HelpRow> words_of(const Command& command) {
  std::vector<HelpRow> words = rows_of_commands(command);
  for (HelpRow& row : rows_of_options(command)) {
    if (row.name.starts_with('-')) {
      words.push_back(std::move(row));
    }
  }
  return words;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// In single quotes, for bash and zsh, and for fish.
std::string shell_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string_view kind_of_path(const Option& option) { return option.value == "DIR" ? "directory" : "file"; }

std::string bash_values(const Place& place) {
  std::string text;
  for (const Option& option : place.command->options) {
    if (option.is_positional() || option.takes == Takes::nothing) {
      continue;
    }
    text += fmt::format("    {})", shell_quoted(place.path + " " + option.name));
    if (!option.names.empty()) {
      text += fmt::format(" words={} ;;\n", shell_quoted(fmt::format("{}", fmt::join(option.names, " "))));
    } else {
      text += option.takes_path() ? fmt::format(" kind={} ;;\n", kind_of_path(option)) : " return ;;\n";
    }
  }
  return text;
}

constexpr std::string_view kBash = R"(# Completion of heed's commands for bash.
_heed() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} place=heed words= kind= i
  COMPREPLY=()
  # The shell takes --option=value for three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$place ${{COMP_WORDS[i]}}" in
      {}) place="$place ${{COMP_WORDS[i]}}" ;;
      *) break ;;
    esac
  done
  case "$place $before" in
{}    *)
      case "$place" in
{}      esac
      ;;
  esac
  if [[ $kind == directory ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  elif [[ $kind == file || $current != -* && -z $words ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ ${{#COMPREPLY[@]}} == 0 && $current != -* ]]; then
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
  fi
}}
complete -F _heed heed
)";

std::string bash_completion(const Command& program) {
  std::string paths, values, words;
  for (const Place& place : places_of(program)) {
    if (place.command != &program) {
      paths += (paths.empty() ? "" : " | ") + shell_quoted(place.path);
    }
    values += bash_values(place);
    std::string all;
    for (const HelpRow& row : words_of(*place.command)) {
      all += (all.empty() ? "" : " ") + row.name;
    }
    words += fmt::format("        {}) words={} ;;\n", shell_quoted(place.path), shell_quoted(all));
  }
  return fmt::format(kBash, paths, values, words);
}

std::string zsh_function(std::string path) { return "_" + replaced(replaced(std::move(path), " ", "_"), "-", "_"); }

// '--beam=[beam width]:N:' of _arguments.
std::string zsh_option(const Option& option) {
  const std::string help = replaced(replaced(replaced(option.help, "[", "("), "]", ")"), ":", "\\:");
  const std::string values = !option.names.empty()   ? fmt::format("({})", fmt::join(option.names, " "))
                             : option.value == "DIR" ? "_files -/"
                             : option.takes_path()   ? "_files"
                                                     : " ";
  if (option.is_positional()) {
    const std::string_view number = option.takes == Takes::one_word ? "" : "*";
    return shell_quoted(fmt::format("{}:{}:{}", number, option.name, values));
  }
  const std::string_view repeated =
      option.takes == Takes::one_word_each_time || option.takes == Takes::words ? "*" : "";
  if (option.takes == Takes::nothing) {
    return shell_quoted(fmt::format("{}[{}]", option.name, help));
  }
  return shell_quoted(fmt::format("{}{}=[{}]:{}:{}", repeated, option.name, help, option.value, values));
}

std::string zsh_commands(const Place& place) {
  std::string text = fmt::format(
      "  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C '--help[show this]'{} "
      "'1:command:->command' "
      "'*::argument:->argument'\n  case $state in\n    command)\n      local -a commands=(\n",
      place.command->version.empty() ? "" : " '--version[show the version]'");
  for (const HelpRow& row : rows_of_commands(*place.command)) {
    text += fmt::format("        {}\n", shell_quoted(row.name + ":" + replaced(row.text, ":", "\\:")));
  }
  text += "      )\n      _describe -t commands command commands\n      ;;\n    argument)\n      case $words[1] in\n";
  for (const HelpRow& row : rows_of_commands(*place.command)) {
    text += fmt::format("        {}) {} ;;\n", row.name, zsh_function(place.path + " " + row.name));
  }
  return text + "      esac\n      ;;\n  esac\n";
}

std::string zsh_completion(const Command& program) {
  std::string text = "#compdef heed\n# Completion of heed's commands for zsh.\n";
  for (const Place& place : places_of(program)) {
    text += fmt::format("\n{}() {{\n", zsh_function(place.path));
    if (!place.command->commands.empty()) {
      text += zsh_commands(place);
    } else {
      text += "  _arguments";
      for (const Option& option : place.command->options) {
        text += " \\\n    " + zsh_option(option);
      }
      text += " \\\n    '--help[show this]'\n";
    }
    text += "}\n";
  }
  return text + "\nif [[ $funcstack[1] == _heed ]]; then\n  _heed \"$@\"\nelse\n  compdef _heed heed\nfi\n";
}

constexpr std::string_view kFish = R"(# Completion of heed's commands for fish.
# Whether the words after the program's name begin with these, and with __heed_is, whether they are these.
function __heed_at
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv)
    and test "$words[2..$(math 1 + (count $argv))]" = "$argv"
end
function __heed_is
    set -l words (commandline -opc)
    test (count $words) -eq (math 1 + (count $argv))
    and test "$words[2..]" = "$argv"
end
complete -c heed -n __heed_is -f
)";

std::string fish_option(const Option& option, const std::string& condition) {
  std::string text = fmt::format("complete -c heed -n {} -l {}", condition, option.name.substr(2));
  if (option.takes != Takes::nothing) {
    text += option.takes_path() ? " -r -F" : " -x";
  }
  if (!option.names.empty()) {
    text += fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(option.names, " "))));
  }
  return text + fmt::format(" -d {}\n", fish_quoted(option.help));
}

std::string fish_completion(const Command& program) {
  std::string text(kFish);
  for (const Place& place : places_of(program)) {
    const std::string path = place.path.substr(std::min(place.path.find(' '), place.path.size()));
    const std::string here =
        "'" + std::string(place.command->commands.empty() ? "__heed_at" : "__heed_is") + path + "'";
    for (const HelpRow& row : rows_of_commands(*place.command)) {
      text += fmt::format("complete -c heed -n {} -f -a {} -d {}\n", here, row.name, fish_quoted(row.text));
    }
    for (const Option& option : place.command->options) {
      if (!option.is_positional()) {
        text += fish_option(option, here);
      }
    }
    text += fmt::format("complete -c heed -n {} -l help -d 'show this'\n", here);
    if (!place.command->version.empty()) {
      text += fmt::format("complete -c heed -n {} -l version -d 'show the version'\n", here);
    }
  }
  return text;
}

}  // namespace

std::string completion(const Command& program, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash_completion(program);
    case Shell::zsh:
      return zsh_completion(program);
    case Shell::fish:
      break;
  }
  return fish_completion(program);
}

}  // namespace heed::cli
