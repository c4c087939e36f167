// Texts as Python sees them: sequences of characters, in UTF-8 here, and what Python writes for other values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/template/values/value.h"

namespace heed::chat {

// All texts must be well-formed UTF-8.
size_t bytes_of_character(std::string_view text, size_t at);
int64_t characters_of(std::string_view text);

// The byte where character number `index`, from 0, begins; the text's size where it has no more than `index`.
size_t byte_of(std::string_view text, int64_t index);

bool is_space(char32_t c);  // str.isspace()
char32_t character_at(std::string_view text, size_t at);

enum class Side : uint8_t { left, right, both };
// str.strip(): white space, or the characters of a text.
std::string_view strip(std::string_view text, Side side, const std::optional<std::string>& characters = std::nullopt);

std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);
std::string capitalized(std::string_view text);       // str.capitalize()
std::string title_case(std::string_view text);        // str.title()
std::string title_case_words(std::string_view text);  // the filter `title`, which divides words otherwise
bool is_all_upper(std::string_view text);             // str.isupper()
bool is_all_lower(std::string_view text);
enum class CharacterClass : uint8_t { digit, letter, letter_or_digit, space };
bool is_all(std::string_view text, CharacterClass kind);  // str.isdigit() and others: false for an empty text

// Where `part` is found first from byte `from` on, or last; npos: nowhere. The time grows with the length of the text
// alone, also where a template means it to grow with the part's, too.
size_t find_first(std::string_view text, std::string_view part, size_t from = 0);
size_t find_last(std::string_view text, std::string_view part);

std::vector<std::string_view> split_lines(std::string_view text);  // str.splitlines()
// str.split(); without a separator at white space. `most` divisions, -1: all.
std::vector<std::string_view> split(std::string_view text, const std::optional<std::string>& separator, int64_t most);
std::vector<std::string_view> split_from_right(std::string_view text, const std::optional<std::string>& separator,
                                               int64_t most);
// str.replace(); `most` replacements, -1: all.
std::string replace(Run& run, std::string_view text, std::string_view old, std::string_view with, int64_t most);

std::string show_number(double number);             // repr() of a float
std::string to_text(Run& run, const Value& value);  // str()
std::string repr(Run& run, const Value& value);

}  // namespace heed::chat
