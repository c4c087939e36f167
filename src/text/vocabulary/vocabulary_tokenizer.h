// The tokenizers that are a vocabulary: wordpiece, word, char and byte.
#pragma once

#include <memory>
#include <string_view>

#include "text/tokenizer.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {

// A word of more characters than this is one unknown token for wordpiece, whose greedy search is quadratic in them.
inline constexpr size_t kMaxWordLength = 100;

std::unique_ptr<Tokenizer> make_vocabulary_tokenizer(Vocabulary vocabulary);

std::unique_ptr<Tokenizer> parse_vocabulary_tokenizer(std::string_view content, std::string_view where);

}  // namespace heed
