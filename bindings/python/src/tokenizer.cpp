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

std::vector<Encoding> encode_all(const Shared& tokenizer, const std::vector<std::string>& texts) {
  std::vector<Encoding> found;
  run_call([&](const Interruption& interruption, std::stop_source&) {
    for (size_t i = 0; i < texts.size(); ++i) {
      require_going_on(interruption, "encode");
      found.push_back(encoded(tokenizer, texts[i], "texts[" + std::to_string(i) + "]"));
    }
  });
  return found;
}

py::object encode_texts(const std::shared_ptr<LoadedTokenizer>& tokenizer, const py::object& texts) {
  const Texts read = texts_of(texts, "texts");
  if (!read.is_single) {
    return py::cast(encode_all(tokenizer, read.all));
  }
  // Which takes less time than starting a thread.
  const py::gil_scoped_release release;
  Encoding only = encoded(tokenizer, read.all.front(), "texts[0]");
  const py::gil_scoped_acquire acquire;
  return py::cast(std::move(only));
}

std::vector<std::string> decode_batch(const LoadedTokenizer& tokenizer, const py::object& sequences) {
  if (!is_list(sequences)) {
    refuse_type("sequences", "a list of lists of ints", sequences);
  }
  const auto name = [](size_t i) { return "sequences[" + std::to_string(i) + "]"; };
  std::vector<std::vector<int32_t>> all;
  for (const py::handle ids : sequences) {
    all.push_back(value_of<std::vector<int32_t>>(ids, name(all.size())));
  }
  std::vector<std::string> texts;
  run_call([&](const Interruption& interruption, std::stop_source&) {
    for (const std::vector<int32_t>& ids : all) {
      require_going_on(interruption, "decode_batch");
      texts.push_back(tokenizer.decode(ids, name(texts.size())));
    }
  });
  return texts;
}

constexpr const char* kEncoding = R"(A text as tokens.

    >>> encoding = tokenizer.encode("ein Hund")
    >>> encoding.tokens, encoding.offsets, len(encoding)
    (['ein', 'Hund'], [(0, 3), (4, 8)], 2))";

constexpr const char* kTokenizer = R"(A tokenizer from its file: heed's own, or another program's.

    >>> tokenizer = heed.Tokenizer("model/shared.tokenizer")
    >>> tokenizer.kind
    'word')";

constexpr const char* kEncode = R"(An Encoding of a str, or a list of them.

    >>> tokenizer.encode("ein Hund").tokens
    ['ein', 'Hund']
    >>> [len(encoding) for encoding in tokenizer.encode(["ein Hund", "Hund"])]
    [2, 1])";

constexpr const char* kEncodeBatch = R"(encode() of a list, by the name that tokenizers has for it.

    >>> tokenizer.encode_batch(["ein Hund", "Hund"])
    [Encoding(['ein', 'Hund']), Encoding(['Hund'])])";

constexpr const char* kDecode = R"(The text of token numbers.

    >>> tokenizer.decode(tokenizer.encode("ein Hund").ids)
    'ein Hund')";

constexpr const char* kDecodeBatch = R"(The texts of lists of token numbers.

    >>> tokenizer.decode_batch([encoding.ids for encoding in tokenizer.encode(["ein Hund", "Hund"])])
    ['ein Hund', 'Hund'])";

constexpr const char* kIdToToken = R"(The token that has a number.

    >>> tokenizer.id_to_token(tokenizer.encode("Hund").ids[0])
    'Hund')";

constexpr const char* kTokenToId = R"(The number of a token, which the vocabulary must have.

    >>> tokenizer.token_to_id("Hund") == tokenizer.encode("Hund").ids[0]
    True)";

}  // namespace

void add_tokenizer(py::module_& module) {
  py::class_<Encoding>(module, "Encoding", kEncoding)
      .def_readonly("ids", &Encoding::ids, "Their numbers.")
      .def_readonly("tokens", &Encoding::tokens, "In readable form, without white space.")
      .def_property_readonly("offsets", &offsets_of,
                             "For each token (begin, end), so that text[begin:end] is what it came from: with a space "
                             "that\nbelongs to it, and of a byte the character that it is in.")
      .def("__len__", [](const Encoding& encoding) { return encoding.ids.size(); })
      .def("__repr__", [](const Encoding& encoding) {
        return "Encoding(" + std::string(py::repr(py::cast(encoding.tokens))) + ")";
      });
  py::class_<LoadedTokenizer, std::shared_ptr<LoadedTokenizer>>(module, "Tokenizer", kTokenizer)
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
      .def("encode", &encode_texts, kEncode, py::arg("texts"))
      .def(
          "encode_batch",
          [](const std::shared_ptr<LoadedTokenizer>& tokenizer, const py::object& texts) {
            return encode_all(tokenizer, list_of(texts, "texts"));
          },
          kEncodeBatch, py::arg("texts"))
      .def(
          "decode",
          [](const LoadedTokenizer& tokenizer, const py::object& ids) {
            return tokenizer.decode(value_of<std::vector<int32_t>>(ids, "ids"), "ids");
          },
          kDecode, py::arg("ids"))
      .def("decode_batch", &decode_batch, kDecodeBatch, py::arg("sequences"))
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
          kIdToToken, py::arg("id"))
      .def(
          "token_to_id",
          [](const LoadedTokenizer& tokenizer, const py::object& token) {
            return tokenizer.token(value_of<std::string>(token, "token"));
          },
          kTokenToId, py::arg("token"))
      .def_property_readonly(
          "vocabulary_size", [](const LoadedTokenizer& tokenizer) { return tokenizer.summary().vocabulary; },
          "How many tokens there are.")
      .def_property_readonly(
          "kind", [](const LoadedTokenizer& tokenizer) { return std::string(name_of(tokenizer.summary().kind)); },
          "How it cuts: \"bpe\", \"unigram\", \"wordpiece\", \"word\", \"char\" or \"byte\".");
}

}  // namespace heed::python
