// A tokenizer as SentencePiece's model and a list of its tokens, as families have it that list their ids.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace heed {

struct WrittenPieces {
  std::string model;       // source.spm
  std::string vocabulary;  // vocab.json: every token's id
};

// Whether a tokenizer is a SentencePiece model, or was made from one.
bool is_made_of_pieces(const Tokenizer& tokenizer);

// ConfigError, naming `where`, for a tokenizer that neither is a SentencePiece model nor was made from one, or that
// changes texts in a way that such a model cannot: heed's own with another normalization than none or NFC (nearly all
// text is in NFC).
WrittenPieces write_pieces(const Tokenizer& tokenizer, const std::string& where);

}  // namespace heed
