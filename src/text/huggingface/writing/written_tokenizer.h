// Tokenizers in Hugging Face's format, for other programs.
#pragma once

#include <string>
#include <vector>

#include "text/huggingface/huggingface_tokenizer.h"

namespace heed {

// What stands around one text, and around two that are read together. A tokenizer.json's own stays as it is.
struct TextFrames {
  std::vector<FrameSlot> single, pair;
};

struct WrittenTokenizer {
  std::string document;  // tokenizer.json
  SpecialNames names;
};

// The same tokens for every text, as far as versions of Unicode agree. But special tokens that a text spells are found
// there; white space between words is restored by other rules; lines begin as heed begins them only where the line break
// is a user symbol; and of two equally likely ways to cut a text unigram may take the other. ConfigError, naming `where`,
// for a tokenizer that the format cannot express: user symbols other than the line break; words of scripts that are
// written without spaces, which need a dictionary; SentencePiece models whose spaces end words; pieces with listed ids.
WrittenTokenizer write_huggingface_tokenizer(const Tokenizer& tokenizer, const TextFrames& frames,
                                             const std::string& where);

}  // namespace heed
