// Filters over texts, numbers and whatever else is one value.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/chat/template/filter_tables.h"
#include "text/chat/template/values/json.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

template <std::string (*change)(std::string_view)>
Value case_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  const std::string text = to_text(run, input);
  run.make(text.size());
  return make_text(run, change(text));
}

Value trim_filter(Run& run, const Value& input, const Arguments& arguments) {
  const auto characters = optional_text(run, arguments, arguments.bound(run, {"chars"})[0], "chars");
  const std::string text = to_text(run, input);
  run.step(text.size() / 64 * (characters ? characters->size() : 1));
  return make_text(run, std::string(strip(text, Side::both, characters)));
}

Value string_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  return input.text() != nullptr ? input : make_text(run, to_text(run, input));
}

Value same_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  return input;
}

Value replace_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"old", "new", "count"}, 2);
  const bool all = given[2].is<Undefined>() || given[2].is<None>();
  const int64_t most = all ? -1 : integer_argument(run, arguments, given[2], "count");
  return make_text(run, replace(run, to_text(run, input), to_text(run, given[0]), to_text(run, given[1]), most));
}

// So many spaces, or the text itself.
std::string indentation(Run& run, const Arguments& arguments, const Value& width) {
  if (width.text() != nullptr) {
    return *width.text();
  }
  const int64_t spaces = std::max<int64_t>(0, integer_argument(run, arguments, width, "width"));
  run.make(static_cast<size_t>(spaces));
  return std::string(static_cast<size_t>(spaces), ' ');
}

Value indent_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"width", "first", "blank"});
  const std::string space = indentation(run, arguments, given[0].is<Undefined>() ? Value(int64_t{4}) : given[0]);
  const std::string text = text_argument(run, arguments, input, "the input") + "\n";
  run.make(text.size() * sizeof(std::string_view));
  const std::vector<std::string_view> lines = split_lines(text);
  std::string indented = is_true(given[1]) ? space : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool moved = i > 0 && (is_true(given[2]) || !lines[i].empty());
    run.make(lines[i].size() + 1 + space.size());
    indented += i > 0 ? "\n" : "";
    indented += (moved ? space : "");
    indented += lines[i];
  }
  return make_text(run, std::move(indented));
}

Value tojson_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"ensure_ascii", "indent", "separators", "sort_keys"});
  if (is_true(given[0])) {
    run.refuse("tojson: ensure_ascii is not known");
  }
  JsonLayout layout;
  if (!given[1].is<Undefined>() && !given[1].is<None>()) {
    layout.indent = indentation(run, arguments, given[1]);
    layout.comma = ",";
  }
  if (const List* separators = given[2].list()) {
    if (separators->items.size() != 2) {
      run.refuse("tojson: expected two separators");
    }
    layout.comma = text_argument(run, arguments, separators->items[0], "separators");
    layout.colon = text_argument(run, arguments, separators->items[1], "separators");
  }
  layout.keys = is_true(given[3]) ? JsonLayout::Keys::sorted : JsonLayout::Keys::as_given;
  return make_text(run, write_json(run, input, layout));
}

Value default_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"default_value", "boolean"});
  const bool replaced = input.is<Undefined>() || (is_true(given[1]) && !is_true(input));
  const bool has_value = !arguments.values.empty() || !arguments.named.empty();
  return !replaced ? input : given[0].is<Undefined>() && !has_value ? constant("") : given[0];
}

Value length_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  return length_of(run, input);
}

std::string digits_of(std::string_view text) {
  std::string digits(strip(text, Side::both));
  std::erase(digits, '_');
  return digits;
}

std::optional<double> parsed_number(std::string_view text) {
  std::string digits = digits_of(text);
  if (digits.empty() || digits.find_first_not_of("+-.0123456789eEinfatyINFATY") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

Value int_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"default", "base"});
  Value otherwise = given[0].is<Undefined>() ? Value(int64_t{0}) : given[0];
  const int64_t base = given[1].is<Undefined>() ? 10 : integer_argument(run, arguments, given[1], "base");
  if (base != 10) {
    run.refuse("int: only base 10 is known");
  }
  if (const auto integer = integer_of(input)) {
    return *integer;
  }
  if (input.is<Undefined>()) {
    run.refuse("int: the value is undefined");
  }
  std::optional<double> number = number_of(input);
  if (const std::string* text = input.text()) {
    const std::string digits = digits_of(*text);
    const char* begin = digits.c_str() + (digits.starts_with('+') ? 1 : 0);
    int64_t whole = 0;
    const auto [end, error] = std::from_chars(begin, digits.c_str() + digits.size(), whole);
    if (error == std::errc{} && *end == '\0') {
      return whole;
    }
    number = parsed_number(*text);
  }
  if (!number || std::isnan(*number)) {
    return otherwise;
  }
  if (!(std::abs(*number) < 9.2e18)) {
    run.refuse("int: {} is too large for a whole number", *number);
  }
  return static_cast<int64_t>(*number);
}

Value float_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"default"});
  if (input.is<Undefined>()) {
    run.refuse("float: the value is undefined");
  }
  const auto number = input.text() != nullptr ? parsed_number(*input.text()) : number_of(input);
  return number ? Value(*number) : given[0].is<Undefined>() ? Value(0.0) : given[0];
}

Value abs_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  if (const double* number = input.as<double>()) {
    return std::abs(*number);
  }
  const int64_t integer = integer_argument(run, arguments, input, "the input");
  return integer == INT64_MIN ? Value(std::abs(static_cast<double>(integer))) : Value(std::abs(integer));
}

Value round_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"precision", "method"});
  const int64_t digits = given[0].is<Undefined>() ? 0 : integer_argument(run, arguments, given[0], "precision");
  const std::string method = optional_text(run, arguments, given[1], "method").value_or("common");
  const auto number = number_of(input);
  if (!number || digits < 0 || digits > 20) {
    run.refuse("round: expected a number, and 0 to 20 digits");
  }
  if (method == "common") {
    // The decimal nearest to the number's exact value, as Python rounds; printing rounds so.
    return input.is<double>() ? Value(std::strtod(fmt::format("{:.{}f}", *number, digits).c_str(), nullptr))
                              : Value(*integer_of(input));
  }
  if (method != "ceil" && method != "floor") {
    run.refuse("round: the method '{}' is not known", method);
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  return (method == "ceil" ? std::ceil(*number * scale) : std::floor(*number * scale)) / scale;
}

constexpr std::array kValueFilters{
    Filter{"abs", abs_filter},
    Filter{"capitalize", case_filter<capitalized>},
    Filter{"count", length_filter},
    Filter{"d", default_filter},
    Filter{"default", default_filter},
    Filter{"float", float_filter},
    Filter{"indent", indent_filter},
    Filter{"int", int_filter},
    Filter{"length", length_filter},
    Filter{"lower", case_filter<lower_case>},
    Filter{"replace", replace_filter},
    Filter{"round", round_filter},
    Filter{"safe", same_filter},
    Filter{"string", string_filter},
    Filter{"title", case_filter<title_case_words>},
    Filter{"tojson", tojson_filter},
    Filter{"trim", trim_filter},
    Filter{"upper", case_filter<upper_case>},
};

}  // namespace

std::span<const Filter> value_filters() { return kValueFilters; }

}  // namespace heed::chat
