// The recipe's settings for learning a tokenizer.
#pragma once

#include <vector>

#include "base/settings.h"
#include "heed/types/tokenizer.h"

namespace heed {

// The keys in [tokenizer], bound to it.
std::vector<Setting> tokenizer_settings(TokenizerTraining& tokenizer);

// Whether the kind learns pieces until it has the requested number of tokens; otherwise the text decides.
bool learns_pieces(TokenizerKind kind);

// Throws ConfigError, with a message that a user can act on.
void check_tokenizer(const TokenizerTraining& tokenizer);
// The same for the vocabulary of a kind that learns pieces, which must be given.
void check_vocabulary(const TokenizerTraining& tokenizer);

}  // namespace heed
