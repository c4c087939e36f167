// What models compute on their way, and their gradients, as numpy's arrays.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "calls.h"
#include "heed/gradients.h"
#include "heed/types/forward.h"

namespace heed::python {

// Tokens as they are given: a text, or numbers.
bool is_text(const py::object& tokens);
std::vector<int32_t> ids_of(const py::object& tokens, const std::string& name);

// What a model of one text reads of a text, or the numbers that are given.
template <class Model>
std::vector<int32_t> tokens_of(const Model& model, const py::object& tokens, const std::string& name) {
  return is_text(tokens) ? model.tokens(value_of<std::string>(tokens, name), {}, name) : ids_of(tokens, name);
}

ForwardRequest forward_request(const py::object& attentions, const py::object& hidden_states);
py::object forward_result(ForwardResult&& result, std::vector<int32_t>&& ids);
py::object forward_result(ForwardResult&& result, PairTokens&& ids);

// The two of a pair. TypeError, with its name, for anything else.
std::pair<py::object, py::object> two_of(const py::object& pair, const std::string& name);

// The method of a model of one text.
template <class Model>
void add_forward_of_text(py::class_<Held<Model>>& type, const char* description) {
  type.def(
      "forward",
      [](const Held<Model>& held, const py::object& ids, const py::object& attentions,
         const py::object& hidden_states) {
        const Model& model = held.get();
        const ForwardRequest request = forward_request(attentions, hidden_states);
        std::vector<int32_t> tokens = tokens_of(model, ids, "ids");
        ForwardResult result;
        run_call([&](const Interruption&, std::stop_source&) { result = model.forward(tokens, request); });
        return forward_result(std::move(result), std::move(tokens));
      },
      description, py::arg("ids"), py::kw_only(), py::arg("output_attentions") = false,
      py::arg("output_hidden_states") = false);
}

py::object gradients_of(const std::string& directory, const std::vector<LossExample>& batch, int threads);

// The method gradients(batch); `make` is given the model, an example and its name.
template <class Model, class Make>
void add_gradients(py::class_<Held<Model>>& type, const char* description, const Make& make) {
  type.def(
      "gradients",
      [make](const Held<Model>& held, const py::object& batch) {
        const Model& model = held.get();
        if (!is_list(batch)) {
          refuse_type("batch", "a list of examples", batch);
        }
        std::vector<LossExample> examples;
        for (const py::handle example : batch) {
          const std::string name = "batch[" + std::to_string(examples.size()) + "]";
          examples.push_back(make(model, py::reinterpret_borrow<py::object>(example), name));
        }
        return gradients_of(held.directory(), examples, model.threads());
      },
      description, py::arg("batch"));
}

}  // namespace heed::python
