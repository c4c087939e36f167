// What the classes of models have in common.
#pragma once

#include "arguments.h"
#include "calls.h"

namespace heed::python {

// `model_of` is given a handle.
template <class Handle, class ModelOf>
void add_properties(py::class_<Handle>& type, const ModelOf& model_of) {
  type.def_property_readonly("max_length", [model_of](const Handle& held) { return model_of(held).max_length(); })
      .def_property_readonly("parameters", [model_of](const Handle& held) { return model_of(held).parameters(); })
      .def_property_readonly("threads", [model_of](const Handle& held) { return model_of(held).threads(); })
      .def_property_readonly(
          "compute_type", [model_of](const Handle& held) { return std::string(name_of(model_of(held).precision())); })
      .def("__reduce__", &refuse_pickling);
}

// `compute` is given the request, and returns a TextAttention.
template <class Compute>
py::dict attention_of(const AttentionRequest& request, const Compute& compute) {
  TextAttention found;
  run_call([&](const Interruption&, std::stop_source&) { found = compute(request); });
  return attention_dict(found, request);
}

// The method of a model that reads one text; `compute` is given the handle, the text and the request.
template <class Handle, class Compute>
void add_attention_of_text(py::class_<Handle>& type, const char* kind, const Compute& compute) {
  type.def(
      "attention",
      [kind, compute](const Handle& held, const py::object& text, const py::object& layers, const py::object& heads,
                      const py::object& norms) {
        const auto read = value_of<std::string>(text, "text");
        return attention_of(attention_request(py::str(kind), layers, heads, norms),
                            [&](const AttentionRequest& request) { return compute(held, read, request); });
      },
      "What the model attends to when it reads the text; as Translator.attention().", py::arg("text"), py::kw_only(),
      py::arg("layers") = py::none(), py::arg("heads") = py::none(), py::arg("norms") = false);
}

}  // namespace heed::python
