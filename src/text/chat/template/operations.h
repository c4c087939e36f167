// What templates may call: filters, tests, functions and methods, each a table by name. Nothing else can be reached.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "text/chat/template/values/value.h"

namespace heed::chat {

// What a call is given. `name` is what is called, for errors.
struct Arguments {
  std::string_view name;
  std::vector<Value> values;  // by position
  std::vector<std::pair<std::string, Value>> named;

  // The arguments in the order of the parameters' names; undefined where one is not given. A refusal of names and
  // values beyond these, and when one of the first `required` is missing.
  std::vector<Value> bound(Run& run, std::initializer_list<std::string_view> parameters, size_t required = 0) const;
};

// What calls may ask for beside their arguments.
struct Surroundings {
  Run& run;
  const std::optional<std::chrono::local_seconds>& now;
  std::vector<std::unique_ptr<Namespace>>& namespaces;  // made so far
};

bool is_filter(std::string_view name);
bool is_test(std::string_view name);
bool is_function(std::string_view name);
bool is_method(std::string_view name);  // of some kind of value
// The method's name, in static memory, where `value.name` is a method; else empty.
std::string_view method_of(const Value& value, std::string_view name);

Value apply_filter(Run& run, const Value& input, const Arguments& arguments);
bool apply_test(Run& run, const Value& value, const Arguments& arguments);
Value call_function(const Surroundings& around, const Arguments& arguments);
Value call_method(Run& run, const Value& object, const Arguments& arguments);

// `object.name` and `object[key]`; undefined where there is nothing. A refusal where the object is undefined itself.
Value attribute_of(Run& run, const Value& object, std::string_view name);
Value item_of(Run& run, const Value& object, const Value& key);
struct SliceBounds {
  Value start, stop, step;  // None: left out
};
Value slice_of(Run& run, const Value& object, const SliceBounds& bounds);

// Helpers of the tables. Each refuses a value of another kind, naming the call and the parameter.
int64_t integer_argument(Run& run, const Arguments& arguments, const Value& value, std::string_view parameter);
const std::string& text_argument(Run& run, const Arguments& arguments, const Value& value, std::string_view parameter);
// Without a value: nothing.
std::optional<std::string> optional_text(Run& run, const Arguments& arguments, const Value& value,
                                         std::string_view parameter);
Value texts(Run& run, const std::vector<std::string_view>& parts);

// strftime() in English, whatever the locale. A refusal of directives that it does not know.
std::string format_time(Run& run, std::chrono::local_seconds time, std::string_view format);

}  // namespace heed::chat
