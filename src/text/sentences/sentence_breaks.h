// Where sentences end that ICU would split: after abbreviations, initials and ordinal numbers.
#pragma once

#include <string_view>
#include <vector>

namespace heed {

// How a language writes what looks like the end of a sentence.
struct SentenceMarks {
  std::vector<std::string_view> abbreviations = {};  // beyond ICU's own, each with its last dot
  bool has_dotted_ordinals = false;                  // "am 3. Oktober"
};
SentenceMarks sentence_marks(std::string_view language);

// A place in a line at which ICU would end a sentence.
struct SentenceBreak {
  std::string_view before, after;
};

// Whether a sentence goes on there: after an abbreviation or a part of one, an initial ("J."), or an ordinal number of
// one or two digits, or before a small letter.
bool is_inside_sentence(const SentenceBreak& at, const SentenceMarks& marks);

// The bytes at a line's beginning that mark a list item or a quoted line, with the white space around them.
size_t list_mark_of(std::string_view line);

}  // namespace heed
