// The tokenizers that are a SentencePiece model: bpe and unigram.
//
// Models that heed trains carry a note: version, normalization and a checksum. In them SentencePiece's own
// normalization is the identity. Ours comes before it, and turns a U+2581 in the text into a space, for which
// SentencePiece takes it anyway; other white space stays unchanged. Other models keep their own rules.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"
#include "text/unicode/normalization.h"

namespace heed {

// Among the languages that a model accepts, this one marks it as ours even where the note is cut off.
inline constexpr std::string_view kOwnLanguage = "x-heed";

std::unique_ptr<Tokenizer> parse_sentencepiece_tokenizer(std::string content, std::string_view where);

// The serialized model with our note, which says that it was trained on text with this normalization.
std::string add_note(std::string model, Normalization normalization);

// The text that such a model is trained on and encodes.
std::string normalize_for_sentencepiece(std::string_view text, Normalization normalization);

}  // namespace heed
