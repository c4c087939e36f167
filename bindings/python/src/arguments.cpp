#include "arguments.h"

#include <algorithm>

namespace heed::python {
namespace {

[[noreturn]] void refuse_type(const char* name, const char* expected, const py::handle& found) {
  throw py::type_error(std::string(name) + ": expected " + expected + ", not " +
                       std::string(py::str(py::type::of(found).attr("__name__"))));
}

std::string text_of(const py::handle& text, const char* name) {
  if (!py::isinstance<py::str>(text)) {
    refuse_type(name, "str", text);
  }
  return text.cast<std::string>();
}

}  // namespace

std::vector<std::string> list_of(const py::object& texts, const char* name) {
  if (py::isinstance<py::str>(texts) || py::isinstance<py::bytes>(texts) || !py::isinstance<py::iterable>(texts)) {
    refuse_type(name, "a list of str", texts);
  }
  std::vector<std::string> all;
  for (const py::handle text : texts) {
    all.push_back(text_of(text, name));
  }
  return all;
}

Texts texts_of(const py::object& texts, const char* name) {
  if (py::isinstance<py::str>(texts)) {
    return {{texts.cast<std::string>()}, true};
  }
  if (py::isinstance<py::bytes>(texts) || !py::isinstance<py::iterable>(texts)) {
    refuse_type(name, "a str or a list of str", texts);
  }
  return {list_of(texts, name), false};
}

std::string path_of(const py::object& path, const char* name) {
  if (py::isinstance<py::str>(path)) {
    return path.cast<std::string>();
  }
  if (!py::hasattr(path, "__fspath__")) {
    refuse_type(name, "a path", path);
  }
  return text_of(path.attr("__fspath__")(), name);
}

py::object callable_or_none(const py::object& callback) {
  if (!callback.is_none() && PyCallable_Check(callback.ptr()) == 0) {
    refuse_type("callback", "a callable", callback);
  }
  return callback;
}

py::object NamedArguments::object(const char* name) {
  known_.emplace_back(name);
  return given_.contains(name) ? py::object(given_[name]) : py::none();
}

void NamedArguments::finish(const char* function) const {
  for (const auto& [name, value] : given_) {
    const std::string text = py::str(name);
    if (std::find(known_.begin(), known_.end(), text) == known_.end()) {
      std::string all;
      for (const std::string& known : known_) {
        all += (all.empty() ? "" : ", ") + known;
      }
      throw py::type_error(std::string(function) + "() has no argument " + text + "; it has " + all);
    }
  }
}

InferenceOptions inference_options(const std::string& compute_type, int threads, const std::string& device,
                                   const std::string& cache) {
  if (threads < 0) {
    throw py::value_error("threads: " + std::to_string(threads) + ", expected 0 (one per processor) or more");
  }
  InferenceOptions options;
  options.precision = named(compute_type, kPrecisionNames, "compute_type");
  options.threads = threads;
  options.device = device;
  options.cache = named(cache, kCacheTypeNames, "cache");
  return options;
}

AttentionRequest attention_request(const std::string& kind, const std::optional<std::vector<int64_t>>& layers,
                                   const std::optional<std::vector<int64_t>>& heads, bool norms) {
  return {.kind = named(kind, kAttentionKindNames, "kind"),
          .layers = layers.value_or(std::vector<int64_t>{}),
          .heads = heads.value_or(std::vector<int64_t>{}),
          .norms = norms ? AttentionNorms::computed : AttentionNorms::left_out};
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
