#include "text/huggingface/older/documents.h"

#include <algorithm>
#include <set>

#include "base/errors.h"

namespace heed::huggingface {
namespace {

Json token_in_frame(const std::string& text, int32_t type) {
  return {{"SpecialToken", {{"id", text}, {"type_id", type}}}};
}

Json text_in_frame(const char* name, int32_t type) { return {{"Sequence", {{"id", name}, {"type_id", type}}}}; }

struct FrameTemplate {
  Json single = Json::array(), pair = Json::array();
};

const std::string& first_named(const std::string& first, const std::string& second) {
  return first.empty() ? second : first;
}

FrameTemplate template_of(TextFrame frame, const SpecialNames& names, const std::string& language) {
  const Json begin = token_in_frame(first_named(names.cls, names.bos), 0);
  const std::string& end_text = frame == TextFrame::bert ? names.sep : first_named(names.eos, names.sep);
  const Json end = token_in_frame(end_text, 0), a = text_in_frame("A", 0), b = text_in_frame("B", 0);
  const Json code = token_in_frame(language, 0);
  switch (frame) {
    case TextFrame::bert:
      return {{begin, a, end}, {begin, a, end, text_in_frame("B", 1), token_in_frame(end_text, 1)}};
    case TextFrame::roberta:
      return {{begin, a, end}, {begin, a, end, end, b, end}};
    case TextFrame::end:
      return {{a, end}, {a, end, b, end}};
    case TextFrame::begin:
      return {{begin, a}, {begin, a, token_in_frame(first_named(names.cls, names.bos), 1), text_in_frame("B", 1)}};
    case TextFrame::language_end:
      return {{a, end, code}, {a, b, end, code}};
    case TextFrame::language:
      return {{code, a, end}, {code, a, b, end}};
    default:
      return {{a}, {a, text_in_frame("B", 1)}};
  }
}

}  // namespace

Json added_token(const std::string& text, int64_t id, bool special) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

void add_symbols(const std::vector<SentencePieceModel::Piece>& pieces, const TokenIds& ids, Json& added) {
  using PieceType = SentencePieceModel::PieceType;
  for (const SentencePieceModel::Piece& piece : pieces) {
    const bool special = piece.type == PieceType::control;
    const auto id = ids.find(piece.text);
    if ((!special && piece.type != PieceType::user_defined) || id == ids.end()) {
      continue;
    }
    if (std::ranges::none_of(added, [&](const Json& token) { return token["content"] == piece.text; })) {
      added.push_back(added_token(piece.text, id->second, special));
    }
  }
}

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

Json vocabulary_object(const TokenIds& ids) {
  Json vocabulary = Json::object();
  for (const auto& [text, id] : ids) {
    vocabulary[text] = id;
  }
  return vocabulary;
}

Json added_special_tokens(const SpecialNames& names, const TokenIds& ids) {
  std::map<int64_t, std::string> sorted;
  for (const std::string* name :
       {&names.bos, &names.eos, &names.unk, &names.pad, &names.sep, &names.cls, &names.mask}) {
    if (const auto it = ids.find(*name); !name->empty() && it != ids.end()) {
      sorted.emplace(it->second, *name);
    }
  }
  Json tokens = Json::array();
  for (const auto& [id, text] : sorted) {
    tokens.push_back(added_token(text, id, true));
    // A mask takes the space before it.
    tokens.back()["lstrip"] = text == names.mask && text == "<mask>";
  }
  return tokens;
}

Json frame_processor(TextFrame frame, const SpecialNames& names, const std::string& language, const TokenIds& ids,
                     std::string_view where) {
  if (frame == TextFrame::none) {
    return nullptr;
  }
  const auto [single, pair] = template_of(frame, names, language);
  Json tokens = Json::object();
  for (const Json* list : {&single, &pair}) {
    for (const Json& part : *list) {
      if (!part.contains("SpecialToken")) {
        continue;
      }
      const std::string text = part["SpecialToken"]["id"];
      const auto it = ids.find(text);
      require<FormatError>(it != ids.end(), where, "the vocabulary lacks the token '{}', which stands around texts",
                           text);
      tokens[text] = {{"id", text}, {"ids", {it->second}}, {"tokens", {text}}};
    }
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

std::string write_document(Json document, std::string_view where) {
  document["version"] = "1.0";
  for (const char* const key : {"truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    if (!document.contains(key)) {
      document[key] = nullptr;
    }
  }
  try {
    return document.dump();
  } catch (const Json::exception& error) {
    fail<FormatError>(where, "not UTF-8: {}", error.what());
  }
}

}  // namespace heed::huggingface
