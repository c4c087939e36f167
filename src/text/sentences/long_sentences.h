// Sentences that are longer than a model takes.
#pragma once

#include <unicode/brkiter.h>

#include <string_view>
#include <vector>

#include "text/sentences/sentences.h"

namespace heed {

// Parts of a sentence that keep to the limit, without the white space between them. `lines` and `characters` are ICU's
// iterators of places where a line may break, and of characters.
std::vector<TextSpan> split_long(std::string_view text, TextSpan sentence, const SentenceLimit& limit,
                                 const icu::BreakIterator& lines, const icu::BreakIterator& characters);

// A span without white space at its ends.
TextSpan trimmed(std::string_view text, TextSpan span);

}  // namespace heed
