// ICU's break iterators over UTF-8.
#pragma once

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <memory>
#include <string_view>
#include <vector>

namespace heed {

// The offsets after 0 at which a copy of the iterator breaks the text, which is UTF-8; the last one is its size.
std::vector<size_t> breaks_of(const icu::BreakIterator& iterator, std::string_view text);

// Throws InternalError where ICU reports one.
void require_icu(UErrorCode status, std::string_view what);

}  // namespace heed
