#include "heed/encoder.h"

#include "arguments.h"
#include "calls.h"
#include "handles.h"
#include "inside.h"
#include "parts.h"

namespace heed::python {
namespace {

using HeldEncoder = Held<Encoder>;

std::string text_name(size_t i) { return "texts[" + std::to_string(i) + "]"; }
std::string sentence_name(size_t i) { return "sentences[" + std::to_string(i) + "]"; }

py::object encode(const HeldEncoder& held, const py::object& texts, const py::object& batch_size,
                  const py::object& normalize_embeddings, const py::object& pooling, const py::object& prompt,
                  const py::object& prompt_name) {
  const Encoder& encoder = held.get();
  const Texts read = texts_of(texts, "texts");
  if (const auto size = value_of<int64_t>(batch_size, "batch_size"); size < 1) {
    throw py::value_error("batch_size: " + std::to_string(size) + ", expected at least 1");
  }
  TextEmbeddingOptions choice{.pooling = {},
                              .normalized = {},
                              .prompt = value_or_none<std::string>(prompt, "prompt"),
                              .prompt_name = value_or_none<std::string>(prompt_name, "prompt_name")};
  if (!pooling.is_none()) {
    choice.pooling = named(pooling, kPoolingNames, "pooling");
  }
  if (const auto normalizes = value_or_none<bool>(normalize_embeddings, "normalize_embeddings")) {
    choice.normalized = *normalizes ? Normalized::yes : Normalized::no;
  }
  const py::ssize_t width = encoder.embedding_width();
  py::array_t<float> embeddings({static_cast<py::ssize_t>(read.all.size()), width});
  const std::span<float> to(embeddings.mutable_data(), static_cast<size_t>(embeddings.size()));
  run_call([&](const Interruption& interruption, std::stop_source&) {
    encoder.embed_into(to, read.all, choice, text_name, {.interruption = interruption});
  });
  return read.is_single ? py::object(embeddings.attr("__getitem__")(0)) : py::object(embeddings);
}

int64_t embedding_width(const HeldEncoder& held) { return held.get().embedding_width(); }

py::dict dict_of(const TextLabels& labels) {
  py::dict scores;
  for (const LabelScore& one : labels.scores) {
    scores[py::str(one.label)] = one.probability;
  }
  py::dict result;
  result["label"] = labels.labels.empty() ? py::object(py::none()) : py::object(py::str(labels.labels.front()));
  result["labels"] = labels.labels;
  result["scores"] = scores;
  result["number"] = labels.number;
  return result;
}

constexpr const char* kEmbeddings =
    R"(The embedding of a str, or of each of a list: a numpy array of float32, which has a row for each text of a list.

normalize_embeddings: to length 1; None: as the model was made. pooling: "first", "mean", "max", "last" or
"mean-sqrt-length". prompt, prompt_name: a text that is read before each text, or the name of one of the model's own.
batch_size is for other libraries' sake: batches are made of tokens, and change no bit of a result.

    >>> rows = encoder.encode(["a dog", "a man"], normalize_embeddings=True)
    >>> rows.shape == (2, encoder.embedding_width)
    True)";

constexpr const char* kEncoder =
    R"(A model that reads texts: for embeddings one of any kind; with a head, for labels or masked words.

    >>> encoder = heed.Encoder("encoder")
    >>> encoder.encode("a dog").dtype
    dtype('float32'))";

constexpr const char* kClassify =
    R"(For a str, or each of a list, a dict: label (the likeliest), labels, scores by label, and number.

    >>> classifier = heed.Encoder("classifier")
    >>> classifier.labels
    ['negative', 'neutral', 'positive']
    >>> found = classifier.classify("a dog")
    >>> found["label"] == max(found["scores"], key=found["scores"].get)
    True)";

constexpr const char* kTag = R"(A label for each word of each sentence, which is a list of words.

    >>> tagger = heed.Encoder("tagger")
    >>> labels = tagger.tag([["a", "dog"], ["a"]])
    >>> [len(sentence) for sentence in labels], set(labels[0]) <= set(tagger.labels)
    ([2, 1], True))";

constexpr const char* kFill =
    R"(For each mask of each text the likeliest words: dicts of token, id, score and the whole sequence.

    >>> masked = heed.Encoder("masked")
    >>> found = masked.fill(f"a {masked.mask} runs", top=2)
    >>> len(found), found[0][0]["score"] >= found[0][1]["score"]
    (1, True))";

constexpr const char* kEncoderForward =
    R"(What the model computes from a str, or from token numbers as it reads them: a ForwardResult.

output_attentions, output_hidden_states: adds those of every layer

    >>> found = encoder.forward("a dog", output_attentions=True)
    >>> found.attentions[0].shape[1:] == (len(found.ids), len(found.ids))
    True)";

constexpr const char* kEncoderAttention =
    R"(What the model attends to when it reads the text; as Translator.attention().

    >>> found = encoder.attention("a dog", layers=[0], heads=[0])
    >>> found["weights"].shape == (1, 1, len(found["rows"]), len(found["columns"]))
    True)";

constexpr const char* kEmbeddingDimension = R"(embedding_width, by the name that sentence-transformers has for it.

    >>> encoder.get_sentence_embedding_dimension() == encoder.embedding_width
    True)";

// The number of a label that is given by its name or its number.
int32_t number_of(const std::vector<std::string>& labels, const py::object& label, const std::string& name) {
  if (!py::isinstance<py::str>(label)) {
    return value_of<int32_t>(label, name);
  }
  const auto text = value_of<std::string>(label, name);
  const auto found = std::find(labels.begin(), labels.end(), text);
  if (found == labels.end()) {
    throw py::value_error(name + ": the model has no label \"" + text + "\"");
  }
  return static_cast<int32_t>(found - labels.begin());
}

// What is expected: a label, a number, or a list of them. A list of numbers is of labels, or of values.
void expect(LossExample& example, const Encoder& encoder, const py::object& expected, const std::string& name) {
  const bool is_list = py::isinstance<py::sequence>(expected) && !py::isinstance<py::str>(expected);
  const py::list all = is_list ? py::list(expected) : py::list(py::make_tuple(expected));
  for (const py::handle each : all) {
    const auto one = py::reinterpret_borrow<py::object>(each);
    const bool is_real = !py::isinstance<py::str>(one) && PyIndex_Check(one.ptr()) == 0;
    if (!is_real) {
      example.expected.push_back(number_of(encoder.labels(), one, name));
    }
    example.values.push_back(is_real ? value_of<double>(one, name) : static_cast<double>(example.expected.back()));
  }
}

LossExample example_of_text(const Encoder& encoder, const py::object& pair, const std::string& name) {
  const auto [text, expected] = two_of(pair, name);
  LossExample example{.tokens = tokens_of(encoder, text, name + ", text"), .target = {}, .expected = {}, .values = {}};
  expect(example, encoder, expected, name + ", expected");
  return example;
}

constexpr const char* kEncoderGradients = R"(The loss of pairs (text, expected), and its gradients.

A text is as forward() takes it. Expected is a label or its number; of a model that labels words or fills masks, a
number for each token, negative where nothing is predicted; of several labels, 0 or 1 for each; of a number, that.

In f32, without dropout; the weights are opened anew in each call.

    >>> heed.Encoder("classifier").gradients([("a dog", "positive"), ("a man", 0)]).predictions
    2)";

}  // namespace

void add_encoder(py::module_& module) {
  py::class_<HeldEncoder> type(module, "Encoder", kEncoder);
  type.def(py::init([](const py::object& model, const py::object& compute_type, const py::object& threads,
                       const py::object& device) {
             return std::make_unique<HeldEncoder>(path_of(model, "model"),
                                                  inference_options(compute_type, threads, device, py::str("auto")));
           }),
           py::arg("model"), py::kw_only(), py::arg("compute_type") = "auto", py::arg("threads") = 0,
           py::arg("device") = "cpu")
      .def("encode", &encode, kEmbeddings, py::arg("texts"), py::kw_only(), py::arg("batch_size") = 32,
           py::arg("normalize_embeddings") = py::none(), py::arg("pooling") = py::none(),
           py::arg("prompt") = py::none(), py::arg("prompt_name") = py::none())
      .def(
          "classify",
          [](const HeldEncoder& held, const py::object& texts) {
            const Encoder& encoder = held.get();
            const Texts read = texts_of(texts, "texts");
            std::vector<TextLabels> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = encoder.classify(read.all, text_name, {.interruption = interruption});
            });
            py::list all;
            for (const TextLabels& labels : found) {
              all.append(dict_of(labels));
            }
            return read.is_single ? py::object(all[0]) : py::object(all);
          },
          kClassify, py::arg("texts"))
      .def(
          "tag",
          [](const HeldEncoder& held, const py::object& sentences) {
            const Encoder& encoder = held.get();
            if (!is_list(sentences)) {
              refuse_type("sentences", "a list of lists of str", sentences);
            }
            std::vector<std::vector<std::string>> words;
            for (const py::handle sentence : sentences) {
              words.push_back(list_of(py::reinterpret_borrow<py::object>(sentence), sentence_name(words.size())));
            }
            std::vector<std::vector<std::string>> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = encoder.tag(words, sentence_name, {.interruption = interruption});
            });
            return found;
          },
          kTag, py::arg("sentences"))
      .def(
          "fill",
          [](const HeldEncoder& held, const py::object& texts, const py::object& top, const py::object& mask) {
            const Encoder& encoder = held.get();
            const Texts read = texts_of(texts, "texts");
            const FillOptions options{.top = static_cast<int>(at_least(1, value_of<int>(top, "top"), "top")),
                                      .mask = value_of<std::string>(mask, "mask")};
            std::vector<FilledText> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = encoder.fill(read.all, options, text_name, {.interruption = interruption});
            });
            py::list all;
            for (const FilledText& text : found) {
              py::list masks;
              for (const std::vector<MaskGuess>& guesses : text.masks) {
                py::list each;
                for (const MaskGuess& guess : guesses) {
                  py::dict one;
                  one["token"] = guess.token;
                  one["id"] = guess.id;
                  one["score"] = guess.probability;
                  one["sequence"] = guess.text;
                  each.append(one);
                }
                masks.append(each);
              }
              all.append(masks);
            }
            return read.is_single ? py::object(all[0]) : py::object(all);
          },
          kFill, py::arg("texts"), py::kw_only(), py::arg("top") = 5, py::arg("mask") = "")
      .def_property_readonly(
          "mask", [](const HeldEncoder& held) { return held.get().mask(); }, "The token that fill() replaces.")
      .def_property_readonly(
          "labels", [](const HeldEncoder& held) { return held.get().labels(); }, "Their names, by their numbers.")
      .def_property_readonly("embedding_width", &embedding_width, "The numbers of an embedding.")
      .def("get_sentence_embedding_dimension", &embedding_width, kEmbeddingDimension);
  add_gradients(type, kEncoderGradients, &example_of_text);
  add_properties(type);
  add_forward_of_text(type, kEncoderForward);
  add_attention_of_text(type, kEncoderAttention, "encoder",
                        [](const Encoder& encoder, const std::string& text, const auto& request) {
                          return encoder.attention(text, request);
                        });
}

}  // namespace heed::python
