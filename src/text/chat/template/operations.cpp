#include "text/chat/template/operations.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

constexpr std::array<std::string_view, 5> kFunctions{"dict", "namespace", "raise_exception", "range", "strftime_now"};

Value range_of(Run& run, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"start", "stop", "step"}, 1);
  const int64_t first = integer_argument(run, arguments, given[0], "start");
  const bool two = !given[1].is<Undefined>();
  const int64_t start = two ? first : 0, stop = two ? integer_argument(run, arguments, given[1], "stop") : first;
  const int64_t step = given[2].is<Undefined>() ? 1 : integer_argument(run, arguments, given[2], "step");
  if (step == 0) {
    run.refuse("range: the step is 0");
  }
  const auto distance = static_cast<double>(stop) - static_cast<double>(start);
  const double count = std::max(0.0, std::ceil(distance / static_cast<double>(step)));
  if (count > static_cast<double>(kMaxRange)) {
    run.refuse("range: {} numbers, the limit is {}", count, kMaxRange);
  }
  std::vector<Value> numbers;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    // i * step may be beyond 64 bits where the sum is not.
    numbers.emplace_back(
        static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step)));
  }
  return make_list(run, std::move(numbers), ListKind::range);
}

std::vector<std::pair<Value, Value>> named_items(Run& run, const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> items;
  for (const Value& value : arguments.values) {
    if (value.dict() == nullptr || arguments.values.size() > 1) {
      run.refuse("{}: expected arguments with names, or one dict", arguments.name);
    }
    items = value.dict()->items;
  }
  for (const auto& [name, value] : arguments.named) {
    items.emplace_back(constant(name), value);
  }
  return items;
}

Value namespace_of(const Surroundings& around, const Arguments& arguments) {
  auto made = std::make_unique<Namespace>();
  around.run.make(sizeof(Namespace));
  for (const auto& [name, value] : named_items(around.run, arguments)) {
    made->attributes.emplace_back(text_argument(around.run, arguments, name, "a key"), value);
  }
  around.namespaces.push_back(std::move(made));
  return around.namespaces.back().get();
}

[[noreturn]] void raise(Run& run, const Arguments& arguments) {
  std::string message = to_text(run, arguments.bound(run, {"message"}, 1)[0]);
  std::ranges::replace_if(
      message, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  run.refuse("the template refuses these messages: {}", message);
}

Value now_as(const Surroundings& around, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(around.run, {"format"}, 1);
  if (!around.now) {
    around.run.refuse("strftime_now: no date was given");
  }
  return make_text(around.run,
                   format_time(around.run, *around.now, text_argument(around.run, arguments, given[0], "format")));
}

}  // namespace

bool is_function(std::string_view name) { return std::ranges::find(kFunctions, name) != kFunctions.end(); }

Value call_function(const Surroundings& around, const Arguments& arguments) {
  const std::string_view name = arguments.name;
  if (name == "range") {
    return range_of(around.run, arguments);
  }
  if (name == "dict") {
    return make_dict(around.run, named_items(around.run, arguments));
  }
  if (name == "namespace") {
    return namespace_of(around, arguments);
  }
  if (name == "strftime_now") {
    return now_as(around, arguments);
  }
  if (name != "raise_exception") {
    around.run.refuse("the function '{}' is not known", name);
  }
  raise(around.run, arguments);
}

std::vector<Value> Arguments::bound(Run& run, std::initializer_list<std::string_view> parameters,
                                    size_t required) const {
  if (values.size() > parameters.size()) {
    run.refuse("{}: {} arguments, at most {} are taken", name, values.size(), parameters.size());
  }
  std::vector<Value> all = values;
  std::vector<bool> given(values.size(), true);
  all.resize(parameters.size());
  given.resize(parameters.size(), false);
  for (const auto& [key, value] : named) {
    const auto* const found = std::ranges::find(parameters, key);
    if (found == parameters.end()) {
      run.refuse("{}: the argument '{}' is not known", name, key);
    }
    const auto index = static_cast<size_t>(found - parameters.begin());
    if (given[index]) {
      run.refuse("{}: the argument '{}' is given twice", name, key);
    }
    given[index] = true;
    all[index] = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!given[i]) {
      run.refuse("{}: the argument '{}' is missing", name, *(parameters.begin() + i));
    }
  }
  return all;
}

int64_t integer_argument(Run& run, const Arguments& arguments, const Value& value, std::string_view parameter) {
  const auto integer = integer_of(value);
  if (!integer) {
    run.refuse("{}: '{}' is {}, expected a whole number", arguments.name, parameter, type_name(value));
  }
  return *integer;
}

const std::string& text_argument(Run& run, const Arguments& arguments, const Value& value, std::string_view parameter) {
  if (value.text() == nullptr) {
    run.refuse("{}: '{}' is {}, expected a text", arguments.name, parameter, type_name(value));
  }
  return *value.text();
}

std::optional<std::string> optional_text(Run& run, const Arguments& arguments, const Value& value,
                                         std::string_view parameter) {
  return value.is<Undefined>() || value.is<None>() ? std::nullopt
                                                   : std::optional(text_argument(run, arguments, value, parameter));
}

Value texts(Run& run, const std::vector<std::string_view>& parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const std::string_view part : parts) {
    values.push_back(make_text(run, std::string(part)));
  }
  return make_list(run, std::move(values));
}

std::string format_time(Run& run, std::chrono::local_seconds time, std::string_view format) {
  using namespace std::chrono;
  constexpr std::array<std::string_view, 7> kDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                  "Thursday", "Friday", "Saturday"};
  constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                     "May",       "June",     "July",     "August",
                                                     "September", "October",  "November", "December"};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month()), day_of_month = static_cast<unsigned>(date.day());
  const auto hour = clock.hours().count();
  const std::string_view day_name = kDays[weekday(day).c_encoding()], month_name = kMonths[month - 1];
  const auto day_of_year = (day - local_days(date.year() / January / 1)).count() + 1;
  const auto one = [&](char directive, bool padded) -> std::string {
    const auto number = [&](auto value, int width) {
      return padded ? fmt::format("{:0{}}", value, width) : fmt::format("{}", value);
    };
    switch (directive) {
      case 'Y':
        return fmt::format("{:04}", year);
      case 'y':
        return number(year % 100, 2);
      case 'm':
        return number(month, 2);
      case 'd':
        return number(day_of_month, 2);
      case 'e':
        return padded ? fmt::format("{:2}", day_of_month) : fmt::format("{}", day_of_month);
      case 'j':
        return number(day_of_year, 3);
      case 'H':
        return number(hour, 2);
      case 'I':
        return number((hour + 11) % 12 + 1, 2);
      case 'M':
        return number(clock.minutes().count(), 2);
      case 'S':
        return number(clock.seconds().count(), 2);
      case 'p':
        return hour < 12 ? "AM" : "PM";
      case 'A':
        return std::string(day_name);
      case 'a':
        return std::string(day_name.substr(0, 3));
      case 'B':
        return std::string(month_name);
      case 'b':
      case 'h':
        return std::string(month_name.substr(0, 3));
      case 'F':
        return fmt::format("{:04}-{:02}-{:02}", year, month, day_of_month);
      case 'T':
        return fmt::format("{:02}:{:02}:{:02}", hour, clock.minutes().count(), clock.seconds().count());
      case '%':
        return "%";
      default:
        break;
    }
    run.refuse("strftime_now: the directive '%{}' is not known", directive);
  };
  std::string written;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      written += format[at];
      continue;
    }
    const bool padded = at + 1 >= format.size() || format[at + 1] != '-';
    at += padded ? 1 : 2;
    if (at >= format.size() || static_cast<unsigned char>(format[at]) >= 0x80) {
      run.refuse("strftime_now: the format ends within a directive");
    }
    written += one(format[at], padded);
  }
  return written;
}

}  // namespace heed::chat
