// Parts of a tokenizer.json that is written here.
#pragma once

#include <map>
#include <string>

#include "text/huggingface/json.h"
#include "text/huggingface/older/older_files.h"

namespace heed::huggingface {

// Ids by the texts of tokens.
using TokenIds = std::map<std::string, int64_t, std::less<>>;

// Removes the first line, and returns it without its end.
std::string_view next_line(std::string_view& text);

// "vocab" of a model.
Json vocabulary_object(const TokenIds& ids);

// The texts that are named, in the order of their ids, as "added_tokens"; those that are in no vocabulary are left out.
Json added_special_tokens(const SpecialNames& names, const TokenIds& ids);
Json added_token(const std::string& text, int64_t id, bool special);
// Control and user-defined symbols that are not added yet.
void add_symbols(const std::vector<SentencePieceModel::Piece>& pieces, const TokenIds& ids, Json& added);

// "post_processor" for a frame; null for none. FormatError names `where` and the token that has no id.
Json frame_processor(TextFrame frame, const SpecialNames& names, const std::string& language, const TokenIds& ids,
                     std::string_view where);

// The whole file. FormatError names `where` when a text is not UTF-8.
std::string write_document(Json document, std::string_view where);

}  // namespace heed::huggingface
