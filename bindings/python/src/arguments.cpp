#include "arguments.h"

#include <algorithm>

namespace heed::python {

void refuse(const std::string& name, const std::string& expected, const std::string& found) {
  throw WrongArgument("(): argument '" + name + "' must be " + expected + ", not " + found);
}

void refuse_type(const std::string& name, const std::string& expected, const py::handle& found) {
  refuse(name, expected, py::str(py::type::of(found).attr("__name__")));
}

template <>
std::string value_of(const py::handle& value, const std::string& name) {
  if (!py::isinstance<py::str>(value)) {
    refuse_type(name, "a str", value);
  }
  py::ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) {
    const py::error_already_set failure;  // which says where
    throw py::value_error(name + ": " + std::string(py::str(failure.value())));
  }
  return {text, static_cast<size_t>(size)};
}

int64_t at_least(int64_t least, int64_t value, const char* name) {
  if (value < least) {
    throw py::value_error(std::string(name) + ": " + std::to_string(value) + ", expected " + std::to_string(least) +
                          " or more");
  }
  return value;
}

bool is_name(const py::handle& text, const std::string& name) {
  return PyUnicode_CompareWithASCIIString(text.ptr(), name.c_str()) == 0;
}

bool is_list(const py::handle& value) {
  return py::isinstance<py::iterable>(value) && !py::isinstance<py::str>(value) && !py::isinstance<py::bytes>(value);
}

std::vector<std::string> list_of(const py::object& texts, const std::string& name) {
  if (!is_list(texts)) {
    refuse_type(name, "a list of str", texts);
  }
  std::vector<std::string> all;
  for (const py::handle text : texts) {
    all.push_back(value_of<std::string>(text, name + "[" + std::to_string(all.size()) + "]"));
  }
  return all;
}

Texts texts_of(const py::object& texts, const std::string& name) {
  if (py::isinstance<py::str>(texts)) {
    return {{value_of<std::string>(texts, name)}, true};
  }
  if (!is_list(texts)) {
    refuse_type(name, "a str or a list of str", texts);
  }
  return {list_of(texts, name), false};
}

std::string path_of(const py::object& path, const char* name) {
  if (!py::isinstance<py::str>(path) && !py::hasattr(path, "__fspath__")) {
    refuse_type(name, "a path", path);
  }
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), static_cast<void*>(&encoded)) == 0) {
    const py::error_already_set failure;
    throw py::value_error(std::string(name) + ": " + std::string(py::str(failure.value())));
  }
  return py::reinterpret_steal<py::bytes>(encoded);
}

std::string path_or_empty(const py::object& path, const char* name) {
  return path.is_none() ? std::string() : path_of(path, name);
}

py::object callable_or_none(const py::object& callback) {
  if (!callback.is_none() && PyCallable_Check(callback.ptr()) == 0) {
    refuse_type("callback", "a callable", callback);
  }
  return callback;
}

void NamedArguments::take(const char* name, int64_t& to, int64_t least) {
  if (const py::object value = object(name); !value.is_none()) {
    to = at_least(least, value_of<int64_t>(value, name), name);
  }
}

py::object NamedArguments::object(const char* name) {
  known_.emplace_back(name);
  return given_.contains(name) ? py::object(given_[name]) : py::none();
}

void NamedArguments::finish() const {
  for (const auto& [name, value] : given_) {
    const auto is_given = [name = name](const std::string& known) { return is_name(name, known); };
    if (std::none_of(known_.begin(), known_.end(), is_given)) {
      std::string all;
      for (const std::string& known : known_) {
        all += (all.empty() ? "" : ", ") + known;
      }
      throw WrongArgument("() got an unexpected keyword argument " + std::string(py::repr(name)) + "; it has " + all);
    }
  }
}

InferenceOptions inference_options(const py::object& compute_type, const py::object& threads, const py::object& device,
                                   const py::object& cache) {
  InferenceOptions options;
  options.precision = named(compute_type, kPrecisionNames, "compute_type");
  options.threads = value_of<int>(threads, "threads");
  if (options.threads < 0) {
    throw py::value_error("threads: " + std::to_string(options.threads) + ", expected 0 (one per processor) or more");
  }
  options.device = value_of<std::string>(device, "device");
  options.cache = named(cache, kCacheTypeNames, "cache");
  return options;
}

AttentionRequest attention_request(const py::object& kind, const py::object& layers, const py::object& heads,
                                   const py::object& norms) {
  using Numbers = std::vector<int64_t>;
  return {.kind = named(kind, kAttentionKindNames, "kind"),
          .layers = value_or_none<Numbers>(layers, "layers").value_or(Numbers{}),
          .heads = value_or_none<Numbers>(heads, "heads").value_or(Numbers{}),
          .norms = value_of<bool>(norms, "norms") ? AttentionNorms::computed : AttentionNorms::left_out};
}

py::dict attention_dict(const TextAttention& attention, const AttentionRequest& request) {
  const auto heads = request.heads.empty() ? attention.heads : static_cast<int64_t>(request.heads.size());
  const auto layers = static_cast<int64_t>(attention.maps.size()) / std::max<int64_t>(1, heads);
  const std::vector<py::ssize_t> shape{layers, heads, static_cast<py::ssize_t>(attention.rows.size()),
                                       static_cast<py::ssize_t>(attention.columns.size())};
  std::vector<float> weights, norms;
  for (const AttentionMap& map : attention.maps) {
    weights.insert(weights.end(), map.weights.begin(), map.weights.end());
    norms.insert(norms.end(), map.norms.begin(), map.norms.end());
  }
  py::dict result;
  result["weights"] = array_of(std::move(weights), shape);
  result["norms"] = request.norms == AttentionNorms::computed ? py::object(array_of(std::move(norms), shape))
                                                              : py::object(py::none());
  result["rows"] = attention.rows;
  result["columns"] = attention.columns;
  return result;
}

}  // namespace heed::python
