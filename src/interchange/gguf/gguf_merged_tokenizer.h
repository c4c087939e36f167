// Tokenizers in Hugging Face's format as a GGUF file's metadata.
#pragma once

#include <string>
#include <vector>

#include "interchange/gguf/gguf.h"
#include "text/huggingface/huggingface_tokenizer.h"

namespace heed {

// Byte-pair encodings of the two kinds that llama.cpp has: of bytes, cut by expressions that have a name there, and
// SentencePiece's. Rows of the model's table without a token become tokens that no text has. ConfigError, naming
// `where`, for others.
std::vector<GgufEntry> merged_tokenizer_entries(const HuggingFaceTokenizer& tokenizer, int64_t rows,
                                                const std::string& where);

}  // namespace heed
