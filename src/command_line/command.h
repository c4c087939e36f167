// Commands and their options as data: what a command line may contain, and where each value goes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "heed/types/names.h"

namespace heed::cli {

enum class Presence : uint8_t { optional, required };

// What follows an option's name: nothing; one word; one word each time it is given; or all words up to the next option.
enum class Takes : uint8_t { nothing, one_word, one_word_each_time, words };

// Made by option() and flag() below. A name without dashes is a positional argument (`RECIPE`).
struct Option {
  std::string name;      // "--beam"
  std::string old_name;  // accepted too, but never shown; empty: none
  std::string value;     // the name of its value in the help: "N"; empty if it takes nothing
  std::string help;
  Takes takes = Takes::one_word;
  Presence presence = Presence::optional;
  std::string needs;                                 // the option without which this one is refused; empty: none
  std::string standard;                              // the default, for the help; empty: not shown
  std::vector<std::string_view> names = {};          // of the values of an enum, for completion
  std::function<void(const std::string& text)> set;  // throws ConfigError, which names the option

  bool is_called(std::string_view word) const { return word == name || (!old_name.empty() && word == old_name); }
  bool is_positional() const { return !name.starts_with('-'); }
  bool takes_path() const {
    return value == "DIR" || value == "PATH" || value == "RECIPE" || value.starts_with("FILE");
  }
};

// An option whose value goes to `target`, which holds the default and must outlive the command. `names` is the option's
// name and the name of its value: "--beam N"; "RECIPE" alone is a positional argument. A list takes one word each time,
// or, when the value's name ends with "..." ("--input FILE..."), all words that follow. A value named DIR, FILE,
// PATH or RECIPE is a path, which must not be empty.
Option option(const std::string& names, std::string& target, std::string help);
Option option(const std::string& names, std::vector<std::string>& target, std::string help);
Option option(const std::string& names, int& target, std::string help);
Option option(const std::string& names, int64_t& target, std::string help);
Option option(const std::string& names, uint64_t& target, std::string help);
Option option(const std::string& names, double& target, std::string help);
Option option(const std::string& names, std::optional<std::string>& target, std::string help);
Option option(const std::string& names, std::optional<int64_t>& target, std::string help);
Option option(const std::string& names, std::optional<double>& target, std::string help);

// Calls `set` with the word each time the option is given.
Option option_each_time(const std::string& names, std::function<void(const std::string& text)> set, std::string help);

template <class Value, size_t kCount>
std::vector<std::string_view> names_of(const std::array<NamedValue<Value>, kCount>& values) {
  std::vector<std::string_view> names;
  names.reserve(kCount);
  for (const auto& [name, value] : values) {
    names.push_back(name);
  }
  return names;
}

// One of an enum's names (kFooNames).
template <class Value, size_t kCount>
Option option(const std::string& names, Value& target, const std::array<NamedValue<Value>, kCount>& values,
              std::string help) {
  std::string standard(name_among(values, target));
  Option made = option(names, standard, std::move(help));
  made.names = names_of(values);
  made.set = [what = made.name, &target, &values](const std::string& text) {
    target = value_named(what, text, values);
  };
  return made;
}

// The same, where it may also be left open.
template <class Value, size_t kCount>
Option option(const std::string& names, std::optional<Value>& target,
              const std::array<NamedValue<Value>, kCount>& values, std::string help) {
  std::optional<std::string> standard;
  Option made = option(names, standard, std::move(help));
  made.names = names_of(values);
  made.set = [what = made.name, &target, &values](const std::string& text) {
    target = value_named(what, text, values);
  };
  return made;
}

// PATTERN=NAME with one of an enum's names, each time it is given; `add` takes the pattern and the value.
template <class Value, size_t kCount, class Add>
Option pattern_option(const std::string& names, const std::array<NamedValue<Value>, kCount>& values, Add add,
                      std::string help) {
  const std::string what = names.substr(0, names.find(' '));
  return option_each_time(
      names,
      [what, &values, add](const std::string& text) {
        const size_t sign = text.rfind('=');
        require<ConfigError>(sign != std::string::npos && sign > 0, what, "'{}' is not of the form PATTERN=NAME", text);
        add(text.substr(0, sign), value_named(what, text.substr(sign + 1), values));
      },
      std::move(help));
}

// An option without a value, which sets `target` to `chosen`.
template <class Value>
Option flag(const std::string& name, Value& target, Value chosen, const std::string& help) {
  return {.name = name, .help = help, .takes = Takes::nothing, .set = [&target, chosen](const std::string&) {
            target = chosen;
          }};
}
inline Option flag(const std::string& name, bool& target, const std::string& help) {
  return flag(name, target, true, help);
}

// The same option, but the command is refused without it.
Option required(Option option);

// The same option under the name that it had in earlier versions too. Help and messages show the new one alone.
Option formerly(const std::string& old_name, Option option);

// The same option, but the command is refused when it is given without the other one.
Option needing(const std::string& other, Option option);

// The parts, such as options that several commands share, as one list.
std::vector<Option> joined(std::initializer_list<std::vector<Option>> parts);

// Which jobs run a command: those of one process alone, or those of several ranks too.
enum class Processes : uint8_t { one, several };

// Whether help and messages name a command. Hidden ones serve those who build and package heed.
enum class Shown : uint8_t { yes, hidden };

// Has either `commands` or `run`, not both.
struct Command {
  std::string name;
  std::string summary;  // one line
  std::vector<Option> options;
  std::vector<Command> commands;
  Processes processes = Processes::one;
  std::function<void()> run;  // after all options have been set
  std::string footer;         // examples and other remarks
  std::string version;        // what --version prints; empty: there is no such option
  Shown shown = Shown::yes;
};

}  // namespace heed::cli
