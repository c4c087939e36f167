#include "heed/tokenizer.h"

#include "arguments.h"
#include "calls.h"
#include "parts.h"

namespace heed::python {
namespace {

using Shared = std::shared_ptr<const LoadedTokenizer>;

struct Encoding {
  std::vector<int32_t> ids;
  std::vector<std::string> tokens;
  Shared tokenizer;
  std::string text;
};

// Pairs of numbers, which few ask for: they are found when somebody does.
py::list offsets_of(const Encoding& encoding) {
  py::list offsets;
  for (const TokenOffsets& range : encoding.tokenizer->offsets(encoding.text)) {
    offsets.append(py::make_tuple(range.begin, range.end));
  }
  return offsets;
}

Encoding encoded(const Shared& held, const std::string& text, const std::string& where) {
  const LoadedTokenizer& tokenizer = *held;
  Encoding encoding{.ids = *tokenizer.encode(text, {}, where), .tokens = {}, .tokenizer = held, .text = text};
  encoding.tokens.reserve(encoding.ids.size());
  for (const int32_t id : encoding.ids) {
    encoding.tokens.push_back(tokenizer.piece(id));
  }
  return encoding;
}

}  // namespace

void add_tokenizer(py::module_& module) {
  py::class_<Encoding>(module, "Encoding", "A text as tokens.")
      .def_readonly("ids", &Encoding::ids, "Their numbers.")
      .def_readonly("tokens", &Encoding::tokens, "In readable form, without white space.")
      .def_property_readonly("offsets", &offsets_of,
                             "For each token (begin, end), so that text[begin:end] is what it came from: with a space "
                             "that\nbelongs to it, and of a byte the character that it is in.")
      .def("__len__", [](const Encoding& encoding) { return encoding.ids.size(); })
      .def("__repr__", [](const Encoding& encoding) {
        return "Encoding(" + std::string(py::repr(py::cast(encoding.tokens))) + ")";
      });
  py::class_<LoadedTokenizer, std::shared_ptr<LoadedTokenizer>>(
      module, "Tokenizer", "A tokenizer from its file: heed's own, or another program's.")
      .def(py::init([](const py::object& path) {
             const std::string file = path_of(path, "path");
             const py::gil_scoped_release release;
             return std::make_shared<LoadedTokenizer>(file);
           }),
           py::arg("path"))
      .def("__reduce__",
           [](const py::object& self) {
             refuse_pickling(self, "it holds tables that were read from its file; open the file in the other process");
           })
      .def(
          "encode",
          [](const std::shared_ptr<LoadedTokenizer>& tokenizer, const py::object& texts) -> py::object {
            const Texts read = texts_of(texts, "texts");
            if (read.is_single) {  // which takes less time than starting a thread
              const py::gil_scoped_release release;
              Encoding only = encoded(tokenizer, read.all.front(), "texts[0]");
              const py::gil_scoped_acquire acquire;
              return py::cast(std::move(only));
            }
            std::vector<Encoding> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              for (size_t i = 0; i < read.all.size(); ++i) {
                if (interruption.stop.stop_requested()) {
                  throw InterruptedError("encode: it was stopped");
                }
                found.push_back(encoded(tokenizer, read.all[i], "texts[" + std::to_string(i) + "]"));
              }
            });
            return py::cast(std::move(found));
          },
          "An Encoding of a str, or a list of them.", py::arg("texts"))
      .def(
          "decode",
          [](const LoadedTokenizer& tokenizer, const py::object& ids) {
            return tokenizer.decode(value_of<std::vector<int32_t>>(ids, "ids"), "ids");
          },
          "The text of token numbers.", py::arg("ids"))
      .def(
          "id_to_token",
          [](const LoadedTokenizer& tokenizer, const py::object& id) {
            const auto number = value_of<int32_t>(id, "id");
            if (number < 0 || number >= tokenizer.summary().vocabulary) {
              throw py::value_error("id: " + std::to_string(number) + ", expected 0 to " +
                                    std::to_string(tokenizer.summary().vocabulary - 1));
            }
            return tokenizer.piece(number);
          },
          py::arg("id"))
      .def(
          "token_to_id",
          [](const LoadedTokenizer& tokenizer, const py::object& token) {
            return tokenizer.token(value_of<std::string>(token, "token"));
          },
          py::arg("token"))
      .def_property_readonly("vocabulary_size",
                             [](const LoadedTokenizer& tokenizer) { return tokenizer.summary().vocabulary; })
      .def_property_readonly(
          "kind", [](const LoadedTokenizer& tokenizer) { return std::string(name_of(tokenizer.summary().kind)); });
}

}  // namespace heed::python
