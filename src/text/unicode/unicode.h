// UTF-8 and its code points.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heed {

// The offset of the first byte that is not well-formed UTF-8 (overlong forms, surrogates and values above U+10FFFF are
// not), or none.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// FormatError, naming the line (`where`) and the byte, when the text is not UTF-8, or contains NUL, which only files in
// another encoding do.
void require_text(std::string_view line, std::string_view where);
// The same for a text of several lines: "input.txt:2: byte 4 of the line ..." where `where` is "input.txt".
void require_text_lines(std::string_view text, std::string_view where);

// The code points of well-formed UTF-8, and back. FormatError on anything else.
std::u32string to_code_points(std::string_view text);
std::string to_utf8(std::u32string_view code_points);

// Whether the text holds nothing but ASCII white space.
bool is_blank(std::string_view text);
// Whether it holds a letter of any script. Needs well-formed UTF-8.
bool has_letter(std::string_view text);

// The text with each sequence that is not UTF-8 replaced by U+FFFD: for text that a model wrote, never for input.
std::string replace_invalid_utf8(std::string text);

// Unicode's full lower case, independent of language. Needs well-formed UTF-8.
std::string to_lower_case(std::string_view text);

}  // namespace heed
