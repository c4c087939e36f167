// Python's arguments as heed's, with errors that name them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heed/types/attention.h"
#include "heed/types/inference.h"
#include "heed/types/names.h"

namespace heed::python {

namespace py = pybind11;

// A text, or several: then results are lists, too.
struct Texts {
  std::vector<std::string> all;
  bool is_single = false;
};

// TypeError, with the argument's name, for anything but a str or a sequence of str.
Texts texts_of(const py::object& texts, const char* name);
std::vector<std::string> list_of(const py::object& texts, const char* name);  // of several alone
std::string path_of(const py::object& path, const char* name);                // a str or an os.PathLike
py::object callable_or_none(const py::object& callback);

// ValueError, with the argument's name and all values, for a name that is none of them.
template <class Value, size_t kCount>
Value named(const std::string& text, const std::array<NamedValue<Value>, kCount>& names, const char* argument) {
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

  // TypeError, with the argument's name, for a value of another type.
  template <class Value>
  void take(const char* name, Value& to) {
    const py::object value = object(name);
    if (value.is_none()) {
      return;
    }
    const bool is_flag = py::isinstance<py::bool_>(value);
    try {
      if (std::is_same_v<Value, bool> != is_flag) {
        throw py::cast_error();
      }
      to = value.cast<Value>();
    } catch (const py::cast_error&) {
      throw py::type_error(std::string(name) + ": expected " + expected<Value>() + ", not " +
                           std::string(py::repr(value)));
    }
  }
  py::object object(const char* name);  // None where it was not given
  // TypeError for an argument that was not taken, with the names of those that there are.
  void finish(const char* function) const;

 private:
  template <class Value>
  static const char* expected() {
    return std::is_same_v<Value, bool>          ? "True or False"
           : std::is_floating_point_v<Value>    ? "a number"
           : std::is_integral_v<Value>          ? "an integer within its range"
           : std::is_same_v<Value, std::string> ? "a str"
                                                : "a list of integers";
  }

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

InferenceOptions inference_options(const std::string& compute_type, int threads, const std::string& device,
                                   const std::string& cache);
AttentionRequest attention_request(const std::string& kind, const std::optional<std::vector<int64_t>>& layers,
                                   const std::optional<std::vector<int64_t>>& heads, bool norms);
// {"weights": [layers, heads, rows, columns], "rows": tokens, "columns": tokens, "norms": the same or None}
py::dict attention_dict(const TextAttention& attention, const AttentionRequest& request);

}  // namespace heed::python
