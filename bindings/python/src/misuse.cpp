#include "misuse.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"

namespace heed::python {

namespace py = pybind11;

namespace {

using Record = py::detail::function_record;

PyCFunctionWithKeywords dispatch = nullptr;  // pybind11's, which all its functions share
py::handle wrong_argument;                   // Python's type of a WrongArgument

// "Translator.translate".
std::string qualified_name(const Record& record) {
  const std::string name = record.name;
  return record.is_method ? std::string(py::str(record.scope.attr("__name__"))) + "." + name : name;
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

// "'a'", "'a' and 'b'", "'a', 'b', and 'c'".
std::string all_of(const std::vector<std::string>& names) {
  std::string all = quoted(names.front());
  for (size_t i = 1; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    all += (is_last && i == 1 ? " and " : is_last ? ", and " : ", ") + quoted(names[i]);
  }
  return all;
}

std::string too_many_arguments(const Record& record, size_t given) {
  const size_t most = record.nargs_pos;
  size_t least = std::min<size_t>(most, record.args.size());
  while (least > 0 && record.args[least - 1].value) {
    --least;
  }
  return "() takes " + (least < most ? "from " + std::to_string(least) + " to " : "") + std::to_string(most) +
         " positional argument" + (most == 1 ? "" : "s") + " but " + std::to_string(given) +
         (given == 1 ? " was given" : " were given");
}

// What is wrong with arguments given by name; empty for nothing.
std::string misuse_of_names(const Record& record, size_t given, const py::dict& named) {
  for (const auto& [key, value] : named) {
    size_t i = 0;
    while (i < record.args.size() && !is_name(key, record.args[i].name)) {
      ++i;
    }
    if (i == record.args.size() && !record.has_kwargs) {
      return "() got an unexpected keyword argument " + std::string(py::repr(key));
    }
    if (i < std::min(given, record.args.size())) {
      return "() got multiple values for argument " + quoted(record.args[i].name);
    }
  }
  return {};
}

std::string missing_arguments(const Record& record, size_t given, const py::dict& named) {
  std::vector<std::string> missing;
  for (size_t i = given; i < record.args.size(); ++i) {
    if (!record.args[i].value && !named.contains(record.args[i].name)) {
      missing.emplace_back(record.args[i].name);
    }
  }
  return missing.empty() ? ""
                         : "() missing " + std::to_string(missing.size()) + " required positional argument" +
                               (missing.size() == 1 ? ": " : "s: ") + all_of(missing);
}

// What follows the function's name, empty where the arguments fit its signature. Python checks in the same order.
std::string misuse_of(const Record& record, const py::tuple& arguments, const py::dict& named) {
  const size_t given = arguments.size();
  if (std::string misuse = misuse_of_names(record, given, named); !misuse.empty()) {
    return misuse;
  }
  if (given > record.nargs_pos) {
    return too_many_arguments(record, given);
  }
  if (std::string missing = missing_arguments(record, given, named); !missing.empty()) {
    return missing;
  }
  if (record.is_method && given > 0 && !py::isinstance(arguments[0], record.scope)) {
    return "(): argument 'self' must be a " + std::string(py::str(record.scope.attr("__name__"))) + ", not " +
           std::string(py::str(py::type::of(arguments[0]).attr("__name__")));
  }
  return {};
}

// A TypeError in Python's words where the function was misused. Others, such as a callback's, stay as they are.
void put_in_words(py::error_already_set& raised, PyObject* self, PyObject* arguments, PyObject* named) {
  const auto& record = *py::reinterpret_borrow<py::capsule>(self).get_pointer<Record>();
  const bool is_ours = raised.type().is(wrong_argument);
  const std::string misuse = is_ours
                                 ? std::string(py::str(raised.value()))
                                 : misuse_of(record, py::reinterpret_borrow<py::tuple>(arguments),
                                             named == nullptr ? py::dict() : py::reinterpret_borrow<py::dict>(named));
  if (misuse.empty()) {
    raised.restore();
  } else {
    PyErr_SetString(PyExc_TypeError, (qualified_name(record) + misuse).c_str());
  }
}

PyObject* call(PyObject* self, PyObject* arguments, PyObject* named) {
  try {
    PyObject* const result = dispatch(self, arguments, named);
    if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      py::error_already_set raised;
      put_in_words(raised, self, arguments, named);
    }
    return result;
  } catch (py::error_already_set& failure) {  // pybind11 could not show an argument: its name is not valid text
    put_in_words(failure, self, arguments, named);
    return nullptr;
  }
}

void name_misuse_of(py::handle function) {
  if (PyInstanceMethod_Check(function.ptr()) != 0) {
    function = PyInstanceMethod_GET_FUNCTION(function.ptr());
  }
  // pybind11 2 keeps its record of a function in a capsule.
  if (PyCFunction_Check(function.ptr()) == 0 || PyCapsule_CheckExact(PyCFunction_GET_SELF(function.ptr())) == 0) {
    return;
  }
  PyMethodDef* const definition = reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  if (const std::string_view name = definition->ml_name; name.starts_with("_") && !name.starts_with("__")) {
    return;
  }
  // As CPython stores functions of every kind.
  dispatch = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(definition->ml_meth));
  definition->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call));
}

}  // namespace

void name_misuse(py::module_& module) {
  wrong_argument = py::register_exception<WrongArgument>(module, "WrongArgument", PyExc_TypeError);
  for (const auto& [name, member] : py::reinterpret_borrow<py::dict>(module.attr("__dict__"))) {
    name_misuse_of(member);
    if (PyType_Check(member.ptr()) != 0) {
      for (const py::handle method : member.attr("__dict__").attr("values")()) {
        name_misuse_of(method);
      }
    }
  }
}

}  // namespace heed::python
