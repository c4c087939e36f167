// The character map of a SentencePiece model: which text becomes which, as a double-array trie into a pool of texts.
#pragma once

#include <string_view>

namespace heed {

// FormatError names `where` unless every walk through the trie stays inside it, ends, finds no more matches than the
// library has room for, and leads to texts inside the pool. An empty map means that there is none.
void check_character_map(std::string_view map, std::string_view where);

}  // namespace heed
