// A tokenizer in a GGUF file's metadata.
#pragma once

#include <string>
#include <vector>

#include "interchange/gguf/gguf.h"
#include "text/lines/documents.h"
#include "text/tokenizer.h"

namespace heed {

// The entries tokenizer.ggml.*, with which llama.cpp cuts texts as heed does. ConfigError, naming `where`, for a
// tokenizer of which that can't be said.
std::vector<GgufEntry> tokenizer_entries(const Tokenizer& tokenizer, Documents documents, const std::string& where);

}  // namespace heed
