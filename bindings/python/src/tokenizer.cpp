#include "heed/tokenizer.h"

#include "arguments.h"
#include "parts.h"

namespace heed::python {
namespace {

struct Encoding {
  std::vector<int32_t> ids;
  std::vector<std::string> tokens;
};

Encoding encoded(const LoadedTokenizer& tokenizer, const std::string& text, const std::string& where) {
  Encoding encoding{.ids = *tokenizer.encode(text, {}, where), .tokens = {}};
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
      .def("__len__", [](const Encoding& encoding) { return encoding.ids.size(); })
      .def("__repr__", [](const Encoding& encoding) {
        return "Encoding(" + std::string(py::repr(py::cast(encoding.tokens))) + ")";
      });
  py::class_<LoadedTokenizer>(module, "Tokenizer", "A tokenizer from its file: heed's own, or another program's.")
      .def(py::init([](const py::object& path) {
             const std::string file = path_of(path, "path");
             const py::gil_scoped_release release;
             return std::make_unique<LoadedTokenizer>(file);
           }),
           py::arg("path"))
      .def(
          "encode",
          [](const LoadedTokenizer& tokenizer, const py::object& texts) -> py::object {
            const Texts read = texts_of(texts, "texts");
            std::vector<Encoding> found;
            {
              const py::gil_scoped_release release;
              for (size_t i = 0; i < read.all.size(); ++i) {
                found.push_back(encoded(tokenizer, read.all[i], "texts[" + std::to_string(i) + "]"));
              }
            }
            return read.is_single ? py::cast(std::move(found.front())) : py::cast(std::move(found));
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
            return tokenizer.piece(value_of<int32_t>(id, "id"));
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
