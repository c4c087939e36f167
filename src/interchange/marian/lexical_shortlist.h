// Marian's lexical shortlists, as heed's.
#pragma once

#include <filesystem>

#include "text/shortlist.h"

namespace heed {

// lex.s2t.bin: a mark, a checksum, how many frequent tokens and how many of each source token, and for each source token
// its targets. FormatError for a broken file, and for tokens that these vocabularies do not have.
ShortlistTable read_binary_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers);
bool is_binary_shortlist(const std::filesystem::path& path);

// Lines "TARGET SOURCE PROBABILITY" of tokens, plain or compressed by gzip. The first tokens of the target's vocabulary
// are the frequent ones; of each source token the `best` likeliest targets stay. Tokens that a vocabulary does not have,
// and NULL, are passed over.
struct ShortlistSizes {
  int64_t frequent = 100, best = 100;
};
ShortlistTable read_text_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers,
                                   ShortlistSizes sizes);

}  // namespace heed
