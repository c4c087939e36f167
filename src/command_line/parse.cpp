#include "command_line/parse.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "base/text/names.h"
#include "command_line/help.h"

namespace heed::cli {
namespace {

constexpr std::string_view kEndOfOptions = "--";

bool looks_like_an_option(std::string_view word) { return word.size() > 1 && word.starts_with('-'); }

std::string_view name_in(std::string_view word) { return word.substr(0, word.find('=')); }

bool asks_for_help(std::string_view word) { return word == kHelp || word == kShortHelp; }

std::string unknown(std::string_view what, std::string_view name, const std::vector<std::string_view>& all) {
  const std::string nearest = suggest_name(name, all);  // empty if none is close
  return fmt::format("there is no {} '{}'{} ({}s: {})", what, name, nearest, what, fmt::join(all, ", "));
}

void set(const Option& option, const std::string& word) {
  require<ConfigError>(!word.empty() || !option.takes_path(), option.name, "expected {}, found an empty name",
                       option.value);
  option.set(word);
}

// Parses one command's own words, those after its name.
class Reader {
 public:
  Reader(const Command& command, std::string path, std::span<const std::string> words)
      : command_(command), path_(std::move(path)), words_(words), given_(command.options.size(), false) {}

  Request read();

 private:
  // The path without the program's name, with which every message starts already.
  std::string_view where() const { return std::string_view(path_).substr(path_.find(' ') + 1); }

  void read_option(const std::string& word);
  void read_values(const Option& option);
  void read_positional(const std::string& word);
  void require_all() const;
  void require_needed() const;
  const Option* find(std::string_view name) const;
  [[noreturn]] void fail_unknown(std::string_view name) const;
  void mark(const Option& option);

  const Command& command_;
  std::string path_;
  std::span<const std::string> words_;  // not read yet
  std::vector<bool> given_;             // of the command's options
};

const Option* Reader::find(std::string_view name) const {
  const auto it = std::ranges::find_if(command_.options, [&](const Option& one) { return one.is_called(name); });
  return it == command_.options.end() || it->is_positional() ? nullptr : &*it;
}

void Reader::fail_unknown(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Option& option : command_.options) {
    if (!option.is_positional()) {
      names.push_back(option.name);
    }
  }
  names.push_back(kHelp);
  fail<ConfigError>(where(), "{}", unknown("option", name, names));
}

void Reader::mark(const Option& option) {
  const auto index = static_cast<size_t>(&option - command_.options.data());
  require<ConfigError>(!given_[index] || option.takes == Takes::one_word_each_time, where(), "{} is given twice",
                       option.name);
  given_[index] = true;
}

void Reader::read_option(const std::string& word) {
  const Option* const option = find(name_in(word));
  if (option == nullptr) {
    fail_unknown(name_in(word));
  }
  mark(*option);
  if (const size_t equals = word.find('='); equals != std::string::npos) {
    require<ConfigError>(option->takes != Takes::nothing, option->name, "it takes no value, found '{}'",
                         word.substr(equals + 1));
    set(*option, word.substr(equals + 1));
  } else if (option->takes == Takes::nothing) {
    option->set("");
  } else {
    read_values(*option);
  }
}

// A value may begin with a dash: a negative number, the standard input, a tokenizer's piece. Only the options of the
// same command are certainly not values.
void Reader::read_values(const Option& option) {
  require<ConfigError>(!words_.empty(), option.name, "expected {}, found nothing after it", option.value);
  const std::string& word = words_.front();
  require<ConfigError>(find(name_in(word)) == nullptr, option.name,
                       "expected {}, found the option '{}'; if that is meant, {}={}", option.value, word, option.name,
                       word);
  do {
    set(option, words_.front());
    words_ = words_.subspan(1);
  } while (option.takes == Takes::words && !words_.empty() && !looks_like_an_option(words_.front()));
}

void Reader::read_positional(const std::string& word) {
  for (size_t i = 0; i < command_.options.size(); ++i) {
    const Option& option = command_.options[i];
    if (option.is_positional() && (!given_[i] || option.takes != Takes::one_word)) {
      given_[i] = true;
      return set(option, word);
    }
  }
  fail<ConfigError>(where(), "'{}' is one word too many; usage: {}", word, usage(command_, path_));
}

void Reader::require_all() const {
  std::vector<std::string_view> missing;
  for (size_t i = 0; i < command_.options.size(); ++i) {
    if (!given_[i] && command_.options[i].presence == Presence::required) {
      missing.push_back(command_.options[i].name);
    }
  }
  require<ConfigError>(missing.empty(), where(), "{} {} missing; usage: {}", fmt::join(missing, " and "),
                       missing.size() == 1 ? "is" : "are", usage(command_, path_));
}

void Reader::require_needed() const {
  const auto is_given = [&](std::string_view name) {
    const auto it = std::ranges::find(command_.options, name, &Option::name);
    return given_[static_cast<size_t>(it - command_.options.begin())];
  };
  for (size_t i = 0; i < given_.size(); ++i) {
    const Option& option = command_.options[i];
    require<ConfigError>(!given_[i] || option.needs.empty() || is_given(option.needs), where(), "{} needs {}",
                         option.name, option.needs);
  }
}

Request Reader::read() {
  if (std::ranges::any_of(words_.begin(), std::ranges::find(words_, kEndOfOptions), asks_for_help)) {
    return {.text = help(command_, path_), .run = {}};
  }
  bool options_have_ended = false;
  while (!words_.empty()) {
    const std::string& word = words_.front();
    words_ = words_.subspan(1);
    if (options_have_ended || !looks_like_an_option(word)) {
      read_positional(word);
    } else if (word == kEndOfOptions) {
      options_have_ended = true;
    } else {
      read_option(word);
    }
  }
  require_all();
  require_needed();
  return {.text = "", .run = command_.run, .command = path_, .processes = command_.processes};
}

// Finds the subcommand that the next word names.
struct Step {
  const Command* command;
  std::string path;
};

[[noreturn]] void fail_unknown_command(const Step& at, std::string_view word) {
  std::vector<std::string_view> names;
  std::string message;
  if (looks_like_an_option(word)) {
    names.push_back(kHelp);
    if (!at.command->version.empty()) {
      names.push_back(kVersion);
    }
    message = unknown("option", word, names);
  } else {
    for (const Command& one : at.command->commands) {
      if (one.shown == Shown::yes) {
        names.push_back(one.name);
      }
    }
    message = unknown("command", word, names);
  }
  const size_t space = at.path.find(' ');
  throw ConfigError(space == std::string::npos ? message : at.path.substr(space + 1) + ": " + message);
}

std::optional<std::string> text_asked_for(const Step& at, std::string_view word) {
  if (asks_for_help(word)) {
    return help(*at.command, at.path);
  }
  if (word == kVersion && !at.command->version.empty()) {
    return at.command->version + "\n";
  }
  return std::nullopt;
}

}  // namespace

Request parse(const Command& program, std::span<const std::string> words) {
  Step at{&program, program.name};
  while (!at.command->commands.empty()) {
    if (words.empty()) {
      return {.text = help(*at.command, at.path), .run = {}};
    }
    if (auto text = text_asked_for(at, words.front())) {
      return {.text = std::move(*text), .run = {}};
    }
    const auto next = std::ranges::find(at.command->commands, words.front(), &Command::name);
    if (next == at.command->commands.end()) {
      fail_unknown_command(at, words.front());
    }
    at = {&*next, at.path + " " + next->name};
    words = words.subspan(1);
  }
  return Reader(*at.command, at.path, words).read();
}

}  // namespace heed::cli
