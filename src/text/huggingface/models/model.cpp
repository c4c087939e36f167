#include "text/huggingface/models/model.h"

#include <array>

#include "base/errors.h"
#include "text/tokenizer.h"

namespace heed::huggingface {

void TokenModel::add_token(std::string text, int32_t id) {
  ids_.set(text, id);
  vocabulary_.emplace_back(std::move(text), id);
}

void TokenModel::read_vocabulary(const JsonValue& json) {
  require<FormatError>(json.json().is_object(), json.where(), "expected an object of tokens and their ids");
  vocabulary_.reserve(json.json().size());
  ids_.reserve(json.json().size(), json.json().size() * 8);
  for (const auto& [text, id] : json.json().items()) {
    add_token(text, static_cast<int32_t>(JsonValue(id, id.is_number_unsigned()
                                                           ? json.where()
                                                           : fmt::format("{}.{}", json.where(), show_piece(text)))
                                             .integer(0, kMaxTokenId)));
  }
}

std::vector<int32_t> byte_tokens(const TokenTable& ids) {
  constexpr int kBytes = 256;
  std::vector<int32_t> tokens;
  tokens.reserve(kBytes);
  for (int byte = 0; byte < kBytes; ++byte) {
    tokens.push_back(ids.find(fmt::format("<0x{:02X}>", byte)));
  }
  return tokens;
}

TokenModelPtr read_model(const JsonValue& json) {
  // Old files do not name the type.
  std::string type = json.text_or("type", "");
  if (type.empty()) {
    type = json.find("merges")                     ? "BPE"
           : json.find("max_input_chars_per_word") ? "WordPiece"
           : json.at("vocab").json().is_array()    ? "Unigram"
                                                   : "WordLevel";
  }
  if (type == "BPE") {
    return make_bpe(json);
  }
  if (type == "WordPiece") {
    return make_wordpiece(json);
  }
  if (type == "WordLevel") {
    return make_word_level(json);
  }
  if (type == "Unigram") {
    return make_unigram(json);
  }
  json.refuse(fmt::format("the model '{}' is unknown", type));
}

}  // namespace heed::huggingface
