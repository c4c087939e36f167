// What the classes of models have in common.
#pragma once

#include "arguments.h"
#include "calls.h"

namespace heed::python {

template <class Model>
void add_properties(py::class_<Held<Model>>& type) {
  using Handle = Held<Model>;
  type.def_property_readonly(
          "max_length", [](const Handle& held) { return held.get().max_length(); }, "Tokens that a text may have.")
      .def_property_readonly(
          "parameters", [](const Handle& held) { return held.get().parameters(); }, "How many numbers it learned.")
      .def_property_readonly(
          "threads", [](const Handle& held) { return held.get().threads(); }, "How many it computes with.")
      .def_property_readonly(
          "compute_type", [](const Handle& held) { return std::string(name_of(held.get().precision())); },
          "\"f32\" or \"bf16\".")
      .def("__reduce__", [](const py::object& self) {
        refuse_pickling(self, "it holds a model's memory and threads; open the model's directory in the other process");
      });
}

// `compute` is given the request, and returns a TextAttention.
template <class Compute>
py::dict attention_of(const AttentionRequest& request, const Compute& compute) {
  TextAttention found;
  run_call([&](const Interruption& interruption, std::stop_source&) {
    AttentionRequest stoppable = request;
    stoppable.interruption = interruption;
    found = compute(stoppable);
  });
  return attention_dict(found, request);
}

// The method of a model that reads one text; `compute` is given the model, the text and the request.
template <class Model, class Compute>
void add_attention_of_text(py::class_<Held<Model>>& type, const char* description, const char* kind,
                           const Compute& compute) {
  type.def(
      "attention",
      [kind, compute](const Held<Model>& held, const py::object& text, const py::object& layers,
                      const py::object& heads, const py::object& norms) {
        const Model& model = held.get();
        const auto read = value_of<std::string>(text, "text");
        return attention_of(attention_request(py::str(kind), layers, heads, norms),
                            [&](const AttentionRequest& request) { return compute(model, read, request); });
      },
      description, py::arg("text"), py::kw_only(), py::arg("layers") = py::none(), py::arg("heads") = py::none(),
      py::arg("norms") = false);
}

}  // namespace heed::python
