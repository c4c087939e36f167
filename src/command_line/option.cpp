#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>

#include "base/errors.h"
#include "command_line/command.h"

namespace heed::cli {
namespace {

// The two parts of "--beam N", and how much the option takes according to the second.
Option named(const std::string& names, std::string help) {
  const size_t space = names.find(' ');
  Option option{.name = names.substr(0, space), .help = std::move(help)};
  option.value = space == std::string::npos ? option.name : names.substr(space + 1);
  return option;
}

template <class Integer>
void require_digits(const std::string& name, const std::string& text) {
  constexpr bool kSigned = std::numeric_limits<Integer>::is_signed;
  const std::string_view digits = std::string_view(text).substr(kSigned && text.starts_with('-') ? 1 : 0);
  const bool are_digits = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  require<ConfigError>(are_digits, name, "'{}' is not an integer{}", text, kSigned ? "" : " of 0 or more");
  // In other programs 010 is eight.
  require<ConfigError>(digits == "0" || !digits.starts_with('0'), name, "'{}' begins with a zero", text);
}

template <class Integer>
Integer integer(const std::string& name, const std::string& text) {
  require_digits<Integer>(name, text);
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<ConfigError>(error == std::errc(), name, "'{}' is too large", text);
  return value;
}

double number(const std::string& name, const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data(), end, value);
  const bool in_range = error != std::errc::result_out_of_range || read_to != end;
  require<ConfigError>(in_range, name, "'{}' is too {}", text,
                       std::abs(std::strtod(text.c_str(), nullptr)) < 1.0 ? "small" : "large");
  require<ConfigError>(error == std::errc() && read_to == end && std::isfinite(value), name, "'{}' is not a number",
                       text);
  return value;
}

// An option whose value `read` parses from the text.
template <class Value, class Target>
Option reading(Option option, Target& target, Value (*read)(const std::string& name, const std::string& text)) {
  option.set = [name = option.name, &target, read](const std::string& text) { target = read(name, text); };
  return option;
}

template <class Value>
Option with_standard(Option option, const Value& value) {
  option.standard = fmt::format("{}", value);
  return option;
}

}  // namespace

Option option_each_time(const std::string& names, std::function<void(const std::string& text)> set, std::string help) {
  Option option = named(names, std::move(help));
  option.takes = Takes::one_word_each_time;
  option.set = std::move(set);
  return option;
}

Option option(const std::string& names, std::string& target, std::string help) {
  Option option = with_standard(named(names, std::move(help)), target);
  option.set = [&target](const std::string& text) { target = text; };
  return option;
}

Option option(const std::string& names, std::optional<std::string>& target, std::string help) {
  Option option = named(names, std::move(help));
  option.set = [&target](const std::string& text) { target = text; };
  return option;
}

Option option(const std::string& names, std::vector<std::string>& target, std::string help) {
  Option option = named(names, std::move(help));
  option.takes = option.value.ends_with("...") ? Takes::words : Takes::one_word_each_time;
  option.set = [&target](const std::string& text) { target.push_back(text); };
  return option;
}

Option option(const std::string& names, int& target, std::string help) {
  return with_standard(reading(named(names, std::move(help)), target, integer<int>), target);
}
Option option(const std::string& names, int64_t& target, std::string help) {
  return with_standard(reading(named(names, std::move(help)), target, integer<int64_t>), target);
}
Option option(const std::string& names, uint64_t& target, std::string help) {
  return with_standard(reading(named(names, std::move(help)), target, integer<uint64_t>), target);
}
Option option(const std::string& names, double& target, std::string help) {
  return with_standard(reading(named(names, std::move(help)), target, number), target);
}
Option option(const std::string& names, std::optional<int64_t>& target, std::string help) {
  return reading(named(names, std::move(help)), target, integer<int64_t>);
}
Option option(const std::string& names, std::optional<double>& target, std::string help) {
  return reading(named(names, std::move(help)), target, number);
}

Option required(Option option) {
  option.presence = Presence::required;
  option.standard.clear();
  return option;
}

Option formerly(const std::string& old_name, Option option) {
  option.old_name = old_name;
  return option;
}

Option needing(const std::string& other, Option option) {
  option.needs = other;
  return option;
}

std::vector<Option> joined(std::initializer_list<std::vector<Option>> parts) {
  std::vector<Option> all;
  for (const std::vector<Option>& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace heed::cli
