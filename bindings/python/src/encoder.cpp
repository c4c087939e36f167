#include "heed/encoder.h"

#include "arguments.h"
#include "calls.h"
#include "parts.h"

namespace heed::python {
namespace {

using Handle = Held<Encoder>;

std::string text_name(size_t i) { return "texts[" + std::to_string(i) + "]"; }

py::object encode(const Handle& held, const py::object& texts, int64_t batch_size,
                  std::optional<bool> normalize_embeddings, const std::optional<std::string>& pooling,
                  const std::optional<std::string>& prompt, const std::optional<std::string>& prompt_name) {
  const Encoder& encoder = held.get();
  const Texts read = texts_of(texts, "texts");
  if (batch_size < 1) {
    throw py::value_error("batch_size: " + std::to_string(batch_size) + ", expected at least 1");
  }
  TextEmbeddingOptions choice{.pooling = {}, .normalized = {}, .prompt = prompt, .prompt_name = prompt_name};
  if (pooling) {
    choice.pooling = named(*pooling, kPoolingNames, "pooling");
  }
  if (normalize_embeddings) {
    choice.normalized = *normalize_embeddings ? Normalized::yes : Normalized::no;
  }
  const py::ssize_t width = encoder.embedding_width();
  py::array_t<float> embeddings({static_cast<py::ssize_t>(read.all.size()), width});
  const std::span<float> to(embeddings.mutable_data(), static_cast<size_t>(embeddings.size()));
  run_call([&](const Interruption& interruption, std::stop_source&) {
    encoder.embed_into(to, read.all, choice, text_name, {.interruption = interruption});
  });
  return read.is_single ? py::object(embeddings.attr("__getitem__")(0)) : py::object(embeddings);
}

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

constexpr const char* kEncode =
    R"(The embedding of a str, or of each of a list: a numpy array of float32, which has a row for each text of a list.

normalize_embeddings: to length 1; None: as the model was made. pooling: "first", "mean", "max", "last" or
"mean-sqrt-length". prompt, prompt_name: a text that is read before each text, or the name of one of the model's own.
batch_size is for other libraries' sake: batches are made of tokens, and change no bit of a result.)";

}  // namespace

void add_encoder(py::module_& module) {
  py::class_<Handle>(
      module, "Encoder",
      "A model that reads texts: for embeddings one of any kind; with a head, for labels or masked words.")
      .def(py::init(
               [](const py::object& model, const std::string& compute_type, int threads, const std::string& device) {
                 return std::make_unique<Handle>(path_of(model, "model"),
                                                 inference_options(compute_type, threads, device, "auto"));
               }),
           py::arg("model"), py::kw_only(), py::arg("compute_type") = "auto", py::arg("threads") = 0,
           py::arg("device") = "cpu")
      .def("encode", &encode, kEncode, py::arg("texts"), py::kw_only(), py::arg("batch_size") = 32,
           py::arg("normalize_embeddings") = py::none(), py::arg("pooling") = py::none(),
           py::arg("prompt") = py::none(), py::arg("prompt_name") = py::none())
      .def(
          "classify",
          [](const Handle& held, const py::object& texts) {
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
          "For a str, or each of a list, a dict: label (the likeliest), labels, scores by label, and number.",
          py::arg("texts"))
      .def(
          "tag",
          [](const Handle& held, const py::list& sentences) {
            const Encoder& encoder = held.get();
            std::vector<std::vector<std::string>> words;
            for (const py::handle sentence : sentences) {
              words.push_back(list_of(py::reinterpret_borrow<py::object>(sentence), "sentences"));
            }
            std::vector<std::vector<std::string>> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = encoder.tag(words, [](size_t i) { return "sentences[" + std::to_string(i) + "]"; },
                                  {.interruption = interruption});
            });
            return found;
          },
          "A label for each word of each sentence, which is a list of words.", py::arg("sentences"))
      .def(
          "fill",
          [](const Handle& held, const py::object& texts, int top, const std::string& mask) {
            const Encoder& encoder = held.get();
            const Texts read = texts_of(texts, "texts");
            std::vector<FilledText> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = encoder.fill(read.all, {.top = top, .mask = mask}, text_name, {.interruption = interruption});
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
          "For each mask of each text the likeliest words: dicts of token, id, score and the whole sequence.",
          py::arg("texts"), py::kw_only(), py::arg("top") = 5, py::arg("mask") = "")
      .def(
          "attention",
          [](const Handle& held, const std::string& text, const std::optional<std::vector<int64_t>>& layers,
             const std::optional<std::vector<int64_t>>& heads, bool norms) {
            const Encoder& encoder = held.get();
            const AttentionRequest request = attention_request("encoder", layers, heads, norms);
            TextAttention found;
            run_call([&](const Interruption&, std::stop_source&) { found = encoder.attention(text, request); });
            return attention_dict(found, request);
          },
          "What the model attends to when it reads the text; as Translator.attention().", py::arg("text"),
          py::kw_only(), py::arg("layers") = py::none(), py::arg("heads") = py::none(), py::arg("norms") = false)
      .def_property_readonly("mask", [](const Handle& held) { return held.get().mask(); })
      .def_property_readonly("labels", [](const Handle& held) { return held.get().labels(); })
      .def_property_readonly("embedding_width", [](const Handle& held) { return held.get().embedding_width(); })
      .def_property_readonly("max_length", [](const Handle& held) { return held.get().max_length(); })
      .def_property_readonly("parameters", [](const Handle& held) { return held.get().parameters(); })
      .def_property_readonly("threads", [](const Handle& held) { return held.get().threads(); })
      .def_property_readonly("compute_type",
                             [](const Handle& held) { return std::string(name_of(held.get().precision())); })
      .def("__reduce__", &refuse_pickling);
}

}  // namespace heed::python
