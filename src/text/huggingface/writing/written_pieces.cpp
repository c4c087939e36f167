#include "text/huggingface/writing/written_pieces.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/errors.h"
#include "base/text/base64.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/json.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/sentencepiece/sentencepiece_writing.h"
#include "text/unicode/normalization.h"

namespace heed {
namespace {

using huggingface::Json;
using SomePiece = SentencePieceModel::Piece;
using SomeType = SentencePieceModel::PieceType;

// "<0x41>"
bool is_byte(std::string_view text) { return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>'); }

// What the file has besides the pieces: its character map, and what becomes of spaces.
void read_spaces(const Json& document, SentencePieceModel& model, const std::string& where) {
  const Json normalizer = document.value("normalizer", Json());
  const Json parts =
      normalizer.is_object() ? normalizer.value("normalizers", Json::array({normalizer})) : Json::array();
  model.spaces.trimmed = false;
  for (const Json& part : parts) {
    const std::string type = part.value("type", "");
    if (type == "Precompiled") {
      model.character_map = decode_base64(part.value("precompiled_charsmap", ""), where);
      model.maps_characters = true;
    }
    model.spaces.trimmed = model.spaces.trimmed || type == "Strip";
  }
  const Json spaces = document.value("pre_tokenizer", Json());
  require<ConfigError>(spaces.is_object() && spaces.value("type", "") == "Metaspace", where,
                       "its tokenizer was not made of a SentencePiece model");
  model.spaces.prefixed = spaces.value("prepend_scheme", "always") != "never";
}

// The texts of added tokens, and whether they are special.
std::unordered_map<std::string, bool> added_in(const Json& document) {
  std::unordered_map<std::string, bool> added;
  for (const Json& token : document.value("added_tokens", Json::array())) {
    added[token.value("content", "")] = token.value("special", false);
  }
  return added;
}

// Pieces without a score are marks.
SomeType type_of(const std::string& text, float score, const std::unordered_map<std::string, bool>& added) {
  const auto found = added.find(text);
  if (found != added.end() || score == 0.0F) {
    return found != added.end() && !found->second ? SomeType::user_defined : SomeType::control;
  }
  return is_byte(text) ? SomeType::byte : SomeType::normal;
}

void add_unigram(const Json& document, SentencePieceModel& model, Json& vocabulary) {
  const Json& own = document["model"];
  const auto added = added_in(document);
  const size_t unknown = own.value("unk_id", size_t{0});
  vocabulary = own.value("others", Json::object());
  const Json ids = own.value("ids", Json::array());
  for (size_t i = 0; i < own["vocab"].size(); ++i) {
    const std::string text = own["vocab"][i][0];
    const auto score = own["vocab"][i][1].get<float>();
    const SomeType type = i == unknown    ? SomeType::unknown
                          : is_byte(text) ? SomeType::byte
                                          : type_of(text, score, added);
    model.pieces.push_back({text, score, type});
    const Json id = ids.empty() ? Json(i) : ids[i];
    if (i == unknown || ids.empty() || id != ids[unknown]) {
      vocabulary[text] = id;
    }
  }
}

// SentencePiece joins pairs by the score of what they make: the earlier a merge, the higher.
void add_bpe(const Json& document, SentencePieceModel& model, Json& vocabulary) {
  const Json& own = document["model"];
  const auto added = added_in(document);
  vocabulary = own["vocab"];
  std::unordered_map<std::string, float> scores;
  for (const Json& merge : own["merges"]) {
    const std::string pair = merge.is_string() ? merge.get<std::string>() : "";
    const size_t space = pair.find(' ');
    const std::string made = merge.is_string() ? pair.substr(0, space) + pair.substr(space + 1)
                                               : merge[0].get<std::string>() + merge[1].get<std::string>();
    scores.emplace(made, -static_cast<float>(scores.size()));
  }
  std::vector<std::pair<int64_t, std::string>> in_order;
  for (const auto& [text, id] : vocabulary.items()) {
    in_order.emplace_back(id.get<int64_t>(), text);
  }
  std::ranges::sort(in_order);
  const std::string unknown = own.value("unk_token", "<unk>");
  const auto lowest = -static_cast<float>(scores.size());
  for (const auto& [id, text] : in_order) {
    const auto score = scores.find(text);
    const SomeType type = text == unknown        ? SomeType::unknown
                          : is_byte(text)        ? SomeType::byte
                          : added.contains(text) ? type_of(text, 0.0F, added)
                                                 : SomeType::normal;
    model.pieces.push_back(
        {text, type == SomeType::normal ? (score == scores.end() ? lowest : score->second) : 0.0F, type});
  }
}

WrittenPieces of_document(const Tokenizer& tokenizer, const std::string& where) {
  const Json document = Json::parse(tokenizer.serialize());
  SentencePieceModel model;
  read_spaces(document, model, where);
  const std::string type = document["model"].value("type", "");
  Json vocabulary;
  require<ConfigError>(type == "Unigram" || type == "BPE", where,
                       "its tokenizer was not made of a SentencePiece model");
  if (type == "Unigram") {
    add_unigram(document, model, vocabulary);
  } else {
    model.type = SentencePieceModel::Type::bpe;
    add_bpe(document, model, vocabulary);
  }
  return {write_sentencepiece_model(model), vocabulary.dump(1) + "\n"};
}

WrittenPieces of_model(const Tokenizer& tokenizer, const std::string& where) {
  std::string bytes = tokenizer.serialize();
  const SentencePieceModel model = read_sentencepiece_model(bytes, where);
  if (model.note) {
    const Normalization own = parse_normalization(tokenizer.normalization());
    require<ConfigError>(
        own.form != NormalForm::nfkc && own.letter_case == LetterCase::kept, where,
        "its tokenizer normalizes text ({}), which a SentencePiece model of other programs cannot: use "
        "\"none\" or \"nfc\"",
        tokenizer.normalization());
  }
  Json vocabulary = Json::object();
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    vocabulary[model.pieces[i].text] = i;
  }
  return {std::move(bytes), vocabulary.dump(1) + "\n"};
}

}  // namespace

bool is_made_of_pieces(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != TokenizerKind::bpe && tokenizer.kind() != TokenizerKind::unigram) {
    return false;
  }
  if (dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer) == nullptr) {
    return true;
  }
  const Json spaces = Json::parse(tokenizer.serialize()).value("pre_tokenizer", Json());
  return spaces.is_object() && spaces.value("type", "") == "Metaspace";
}

WrittenPieces write_pieces(const Tokenizer& tokenizer, const std::string& where) {
  const bool has_pieces = tokenizer.kind() == TokenizerKind::bpe || tokenizer.kind() == TokenizerKind::unigram;
  require<ConfigError>(has_pieces, where, "its tokenizer is of kind {}, but this form needs SentencePiece's",
                       name_of(tokenizer.kind()));
  return dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer) != nullptr ? of_document(tokenizer, where)
                                                                          : of_model(tokenizer, where);
}

}  // namespace heed
