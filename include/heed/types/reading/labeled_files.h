// What the lines of files with texts, words and labels hold.
#pragma once

#include <array>
#include <cstdint>

#include "heed/types/names.h"

namespace heed {

// A line of texts: one of them, or two that are read together, with a tab between them.
enum class TextColumns : uint8_t { one, pair };

enum class WordFormat : uint8_t {
  columns,  // a word a line, with its label in the last of its columns; a blank line between sentences
  lines,    // a sentence a line: words \t labels, as many of each, with spaces between them
};

inline constexpr std::array<NamedValue<WordFormat>, 2> kWordFormatNames{
    {{"columns", WordFormat::columns}, {"lines", WordFormat::lines}}};

}  // namespace heed
