// Texts of several lines as tokens, as language models take them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

// The token that stands for a line break, or none where the tokenizer can't write one: a word or wordpiece tokenizer
// without the user symbol "\n", or a SentencePiece model from elsewhere that takes every white space for a space.
std::optional<TokenId> line_break_token(const Tokenizer& tokenizer);

// A tokenizer that takes lines gets the whole text. Others: line by line, with a line break between one and the next: subword kinds cut a word at the beginning of a line as they
// cut it after a space. ConfigError where the text has a line break and the tokenizer has none.
std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text);

// The text again, each line as exactly as Tokenizer::decode restores it.
std::string decode_text(const Tokenizer& tokenizer, std::span<const TokenId> tokens);

}  // namespace heed
