#include "inside.h"

#include "parts.h"

namespace heed::python {
namespace {

struct TextStates {
  std::vector<int32_t> ids;
  py::object logits, embedding, hidden_states, attentions;
};

struct PairStates {
  PairTokens ids;
  py::object logits, encoder_hidden_states, decoder_hidden_states, encoder_attentions, decoder_attentions,
      cross_attentions;
};

struct Gradients {
  double loss;
  int64_t predictions;
  py::dict gradients;
};

// Where there are no numbers, an array with as many axes.
py::object numpy_of(NumberArray&& array, size_t axes) {
  std::vector<py::ssize_t> shape(array.shape.begin(), array.shape.end());
  shape.resize(std::max(shape.size(), axes), 0);
  return array_of(std::move(array.values), shape);
}

py::list list_of_arrays(std::vector<NumberArray>&& arrays, size_t axes) {
  py::list list;
  for (NumberArray& array : arrays) {
    list.append(numpy_of(std::move(array), axes));
  }
  return list;
}

py::dict dict_of(std::vector<NamedArray>&& arrays) {
  py::dict dict;
  for (NamedArray& array : arrays) {
    dict[py::str(array.name)] = numpy_of(std::move(array.numbers), 0);
  }
  return dict;
}

}  // namespace

bool is_text(const py::object& tokens) { return py::isinstance<py::str>(tokens); }

std::vector<int32_t> ids_of(const py::object& tokens, const std::string& name) {
  if (py::isinstance<py::bytes>(tokens) || !py::isinstance<py::sequence>(tokens)) {
    refuse_type(name, "a str or a list of token numbers", tokens);
  }
  return value_of<std::vector<int32_t>>(tokens, name);
}

ForwardRequest forward_request(const py::object& attentions, const py::object& hidden_states) {
  return {.attentions = value_of<bool>(attentions, "output_attentions"),
          .hidden_states = value_of<bool>(hidden_states, "output_hidden_states")};
}

py::object forward_result(ForwardResult&& result, std::vector<int32_t>&& ids) {
  StackStates& stack =
      result.encoder.hidden.empty() && result.encoder.attention.empty() ? result.decoder : result.encoder;
  return py::cast(TextStates{.ids = std::move(ids),
                             .logits = numpy_of(std::move(result.logits), 2),
                             .embedding = numpy_of(std::move(result.embedding), 1),
                             .hidden_states = list_of_arrays(std::move(stack.hidden), 2),
                             .attentions = list_of_arrays(std::move(stack.attention), 3)});
}

py::object forward_result(ForwardResult&& result, PairTokens&& ids) {
  return py::cast(PairStates{.ids = std::move(ids),
                             .logits = numpy_of(std::move(result.logits), 2),
                             .encoder_hidden_states = list_of_arrays(std::move(result.encoder.hidden), 2),
                             .decoder_hidden_states = list_of_arrays(std::move(result.decoder.hidden), 2),
                             .encoder_attentions = list_of_arrays(std::move(result.encoder.attention), 3),
                             .decoder_attentions = list_of_arrays(std::move(result.decoder.attention), 3),
                             .cross_attentions = list_of_arrays(std::move(result.decoder.cross), 3)});
}

std::pair<py::object, py::object> two_of(const py::object& pair, const std::string& name) {
  if (!py::isinstance<py::tuple>(pair) && !py::isinstance<py::list>(pair)) {
    refuse_type(name, "a pair", pair);
  }
  if (py::len(pair) != 2) {
    refuse(name, "a pair", std::to_string(py::len(pair)) + " values");
  }
  return {pair[py::int_(0)], pair[py::int_(1)]};
}

py::object gradients_of(const std::string& directory, const std::vector<LossExample>& batch, int threads) {
  LossGradients found;
  run_call([&](const Interruption&, std::stop_source&) { found = loss_gradients(directory, batch, threads); });
  return py::cast(Gradients{found.loss, found.predictions, dict_of(std::move(found.gradients))});
}

namespace {

constexpr const char* kForwardResult = R"(What a model computes from the tokens of a text.

    >>> found = generator.forward("once upon", output_hidden_states=True)
    >>> len(found.ids) == len(found.logits) == len(found.hidden_states[-1])
    True)";

constexpr const char* kPairForwardResult = R"(What an encoder-decoder computes from a source and a target.

    >>> found = translator.forward("ein Hund", "a dog", output_attentions=True)
    >>> found.cross_attentions[0].shape == (2, len(found.target_ids), len(found.source_ids))
    True)";

constexpr const char* kLossGradients = R"(A batch's loss, and its gradients.

    >>> found = translator.gradients([("ein Hund", "a dog")])
    >>> found.gradients.keys() == heed.weights("model").keys()
    True)";

constexpr const char* kWeights = R"(A model's weights: arrays by the names of the parameters, as inspect() lists them.

    >>> weights = heed.weights("model")
    >>> sum(weight.size for weight in weights.values()) == translator.parameters
    True)";

}  // namespace

void add_inside(py::module_& module) {
  py::class_<TextStates>(module, "ForwardResult", kForwardResult)
      .def_readonly("ids", &TextStates::ids, "The tokens that it read.")
      .def_readonly("logits", &TextStates::logits, "(tokens, vocabulary), or of a head; without one (0, 0).")
      .def_readonly("embedding", &TextStates::embedding, "(width,) of encoders, not normalized; else (0,).")
      .def_readonly("hidden_states", &TextStates::hidden_states,
                    "Where asked for: (tokens, width) of the embedding and after each layer; the last after a final "
                    "norm.")
      .def_readonly("attentions", &TextStates::attentions, "Where asked for: (heads, tokens, tokens) of each layer.");
  py::class_<PairStates>(module, "PairForwardResult", kPairForwardResult)
      .def_property_readonly(
          "source_ids", [](const PairStates& states) { return states.ids.source; }, "What the encoder read.")
      .def_property_readonly(
          "target_ids", [](const PairStates& states) { return states.ids.target; },
          "What the decoder read: its row i predicts token i + 1, and the last row the end.")
      .def_readonly("logits", &PairStates::logits, "(target, vocabulary), before the softmax.")
      .def_readonly("encoder_hidden_states", &PairStates::encoder_hidden_states, "As ForwardResult.hidden_states.")
      .def_readonly("decoder_hidden_states", &PairStates::decoder_hidden_states, "The decoder's.")
      .def_readonly("encoder_attentions", &PairStates::encoder_attentions, "(heads, source, source) of each layer.")
      .def_readonly("decoder_attentions", &PairStates::decoder_attentions, "(heads, target, target) of each layer.")
      .def_readonly("cross_attentions", &PairStates::cross_attentions, "(heads, target, source) of each layer.");
  py::class_<Gradients>(module, "LossGradients", kLossGradients)
      .def_readonly("loss", &Gradients::loss, "The mean over predictions, in nats.")
      .def_readonly("predictions", &Gradients::predictions, "How many there are.")
      .def_readonly("gradients", &Gradients::gradients, "Of that mean: arrays by the names of the parameters.");
  module.def(
      "weights",
      [](const py::object& model) {
        const std::string directory = path_of(model, "model");
        std::vector<NamedArray> found;
        run_call([&](const Interruption&, std::stop_source&) { found = read_weights(directory); });
        return dict_of(std::move(found));
      },
      kWeights, py::arg("model"));
}

}  // namespace heed::python
