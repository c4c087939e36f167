// Python's arguments as heed's, with errors that name them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heed/types/attention.h"
#include "heed/types/inference.h"
#include "heed/types/names.h"

namespace heed::python {

namespace py = pybind11;

// A TypeError. Its message, which begins with "()", follows the function's name, which misuse.h puts before it.
class WrongArgument : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// WrongArgument: "(): argument 'NAME' must be EXPECTED, not FOUND".
[[noreturn]] void refuse(const std::string& name, const std::string& expected, const std::string& found);
// The same, with the name of its type.
[[noreturn]] void refuse_type(const std::string& name, const std::string& expected, const py::handle& found);

template <class Value>
inline constexpr bool kIsList = !std::is_arithmetic_v<Value> && !std::is_same_v<Value, std::string>;

bool is_name(const py::handle& text, const std::string& name);  // of an argument: text may be any str
bool is_list(const py::handle& value);                          // iterable, but no str and no bytes

// WrongArgument for a value of another type; ValueError, with the argument's name, for a str that is not valid text.
template <class Value>
Value value_of(const py::handle& value, const std::string& name);
template <>
std::string value_of(const py::handle& value, const std::string& name);

// Why a value does not convert. An element of a list may be what is wrong with it.
template <class Value>
[[noreturn]] void refuse_value(const py::handle& value, const std::string& name) {
  if constexpr (kIsList<Value>) {
    size_t number = 0;
    if (is_list(value)) {
      for (const py::handle one : value) {
        value_of<typename Value::value_type>(one, name + "[" + std::to_string(number++) + "]");
      }
    }
    refuse_type(name, "a list of ints", value);
  } else if constexpr (std::is_same_v<Value, bool>) {
    refuse_type(name, "a bool", value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    refuse_type(name, "a number", value);
  } else if (PyLong_CheckExact(value.ptr()) != 0) {
    using Range = std::numeric_limits<Value>;
    refuse(name, "from " + std::to_string(Range::min()) + " to " + std::to_string(Range::max()), py::str(value));
  } else {
    refuse_type(name, "an int", value);
  }
}

template <class Value>
Value value_of(const py::handle& value, const std::string& name) {
  if (std::is_same_v<Value, bool> == py::isinstance<py::bool_>(value)) {
    // What converts to an integer may be none: a float32 of numpy's.
    constexpr bool kConverts = std::is_floating_point_v<Value>;
    py::detail::make_caster<Value> caster;
    try {
      if (caster.load(value, kConverts)) {
        return py::detail::cast_op<Value>(std::move(caster));
      }
    } catch (const py::error_already_set& failure) {
      if (!failure.matches(PyExc_TypeError)) {  // which an array without a length raises
        throw;
      }
    }
  }
  refuse_value<Value>(value, name);
}

// Nothing for None.
template <class Value>
std::optional<Value> value_or_none(const py::handle& value, const std::string& name) {
  return value.is_none() ? std::nullopt : std::optional(value_of<Value>(value, name));
}

// The value. ValueError, with the argument's name, for less than `least`.
int64_t at_least(int64_t least, int64_t value, const char* name);

// A text, or several: then results are lists, too.
struct Texts {
  std::vector<std::string> all;
  bool is_single = false;
};

// WrongArgument for anything but a str or a list of str.
Texts texts_of(const py::object& texts, const std::string& name);
std::vector<std::string> list_of(const py::object& texts, const std::string& name);  // of several alone
std::string path_of(const py::object& path, const char* name);                       // a str or an os.PathLike
std::string path_or_empty(const py::object& path, const char* name);                 // empty for None
py::object callable_or_none(const py::object& callback);

// ValueError, with the argument's name and all values, for a name that is none of them.
template <class Value, size_t kCount>
Value named(const py::object& given, const std::array<NamedValue<Value>, kCount>& names, const char* argument) {
  const auto text = value_of<std::string>(given, argument);
  std::string all;
  for (const auto& [name, value] : names) {
    if (name == text) {
      return value;
    }
    all += (all.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  throw py::value_error(std::string(argument) + ": \"" + text + "\" is none of " + all);
}

// Arguments that Python gives by name. None leaves what is there.
class NamedArguments {
 public:
  explicit NamedArguments(const py::kwargs& given) : given_(given) {}

  template <class Value>
  void take(const char* name, Value& to) {
    if (const py::object value = object(name); !value.is_none()) {
      to = value_of<Value>(value, name);
    }
  }
  // ValueError, with the argument's name, for less than `least`.
  void take(const char* name, int64_t& to, int64_t least);
  py::object object(const char* name);  // None where it was not given
  // WrongArgument for an argument that was not taken, with the names of those that there are.
  void finish() const;

 private:
  const py::kwargs& given_;
  std::vector<std::string> known_;
};

// An array that owns the values, which are not copied.
template <class Value>
py::array_t<Value> array_of(std::vector<Value>&& values, const std::vector<py::ssize_t>& shape) {
  auto* const kept = new std::vector<Value>(std::move(values));
  const py::capsule owner(kept, [](void* memory) { delete static_cast<std::vector<Value>*>(memory); });
  return py::array_t<Value>(shape, kept->data(), owner);
}

InferenceOptions inference_options(const py::object& compute_type, const py::object& threads, const py::object& device,
                                   const py::object& cache);
AttentionRequest attention_request(const py::object& kind, const py::object& layers, const py::object& heads,
                                   const py::object& norms);
// {"weights": [layers, heads, rows, columns], "rows": tokens, "columns": tokens, "norms": the same or None}
py::dict attention_dict(const TextAttention& attention, const AttentionRequest& request);

}  // namespace heed::python
