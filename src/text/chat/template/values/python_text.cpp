#include "text/chat/template/values/python_text.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "text/unicode/case.h"

namespace heed::chat {
namespace {

constexpr bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Where the character before byte `at` begins.
size_t before(std::string_view text, size_t at) {
  do {
    --at;
  } while (at > 0 && is_continuation(text[at]));
  return at;
}

bool is_line_end(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool has_case(char32_t c) {
  const auto point = static_cast<UChar32>(c);
  return u_hasBinaryProperty(point, UCHAR_LOWERCASE) != 0 || u_hasBinaryProperty(point, UCHAR_UPPERCASE) != 0 ||
         u_charType(point) == U_TITLECASE_LETTER;
}

// The first character in title case, the others in lower case.
std::string first_upper(std::string_view word, std::string (*first_to)(std::string_view)) {
  if (word.empty()) {
    return {};
  }
  const size_t first = bytes_of_character(word, 0);
  return first_to(word.substr(0, first)) + lower_case(word.substr(first));
}

// Whether all characters that have a case are in this one, and there are some.
bool is_all_of_case(std::string_view text, UProperty wanted) {
  bool some = false;
  for (size_t at = 0; at < text.size(); at += bytes_of_character(text, at)) {
    const char32_t c = character_at(text, at);
    if (u_hasBinaryProperty(static_cast<UChar32>(c), wanted) != 0) {
      some = true;
    } else if (has_case(c)) {
      return false;
    }
  }
  return some;
}

std::vector<std::string_view> split_at_spaces(std::string_view text, int64_t most) {
  std::vector<std::string_view> words;
  for (text = strip(text, Side::left); !text.empty(); text = strip(text, Side::left)) {
    if (most >= 0 && static_cast<int64_t>(words.size()) == most) {
      words.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size() && !is_space(character_at(text, end))) {
      end += bytes_of_character(text, end);
    }
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::vector<std::string_view> split_at_spaces_from_right(std::string_view text, int64_t most) {
  std::vector<std::string_view> words;
  for (text = strip(text, Side::right); !text.empty(); text = strip(text, Side::right)) {
    if (most >= 0 && static_cast<int64_t>(words.size()) == most) {
      words.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0 && !is_space(character_at(text, before(text, begin)))) {
      begin = before(text, begin);
    }
    words.push_back(text.substr(begin));
    text.remove_suffix(text.size() - begin);
  }
  std::ranges::reverse(words);
  return words;
}

}  // namespace

size_t bytes_of_character(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && is_continuation(text[end])) {
    ++end;
  }
  return end - at;
}

int64_t characters_of(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return !is_continuation(c); });
}

size_t byte_of(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) {
    at += bytes_of_character(text, at);
  }
  return at;
}

bool is_space(char32_t c) {
  return (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= ' ') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

char32_t character_at(std::string_view text, size_t at) {
  UChar32 code_point = 0;
  U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, text.size(), code_point);
  return static_cast<char32_t>(code_point);
}

std::string_view strip(std::string_view text, Side side, const std::optional<std::string>& characters) {
  const auto goes = [&](size_t at) {
    const std::string_view c = text.substr(at, bytes_of_character(text, at));
    return characters ? characters->find(c) != std::string::npos : is_space(character_at(text, at));
  };
  while (side != Side::right && !text.empty() && goes(0)) {
    text.remove_prefix(bytes_of_character(text, 0));
  }
  while (side != Side::left && !text.empty() && goes(before(text, text.size()))) {
    text.remove_suffix(text.size() - before(text, text.size()));
  }
  return text;
}

std::string upper_case(std::string_view text) { return to_upper_case(text); }
std::string lower_case(std::string_view text) { return to_lower_case(text); }

std::string capitalized(std::string_view text) { return first_upper(text, to_title_case); }

std::string title_case(std::string_view text) {
  std::string titled;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view c = text.substr(at, bytes_of_character(text, at));
    titled += within ? lower_case(c) : to_title_case(c);
    within = has_case(character_at(text, at));
    at += c.size();
  }
  return titled;
}

std::string title_case_words(std::string_view text) {
  constexpr std::string_view kBeforeWords = "-({[<";
  const auto divides = [&](size_t at) {
    return kBeforeWords.find(text[at]) != std::string_view::npos || is_space(character_at(text, at));
  };
  std::string titled;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const bool dividing = divides(at);
    while (at < text.size() && divides(at) == dividing) {
      at += bytes_of_character(text, at);
    }
    titled += dividing ? std::string(text.substr(begin, at - begin))
                       : first_upper(text.substr(begin, at - begin), to_upper_case);
  }
  return titled;
}

bool is_all_upper(std::string_view text) { return is_all_of_case(text, UCHAR_UPPERCASE); }
bool is_all_lower(std::string_view text) { return is_all_of_case(text, UCHAR_LOWERCASE); }

bool is_all(std::string_view text, CharacterClass kind) {
  for (size_t at = 0; at < text.size(); at += bytes_of_character(text, at)) {
    const char32_t c = character_at(text, at);
    const auto point = static_cast<UChar32>(c);
    const bool digit = u_getIntPropertyValue(point, UCHAR_NUMERIC_TYPE) == U_NT_DECIMAL ||
                       u_getIntPropertyValue(point, UCHAR_NUMERIC_TYPE) == U_NT_DIGIT;
    const bool letter = (U_MASK(u_charType(point)) & U_GC_L_MASK) != 0;
    const bool numeric = u_getIntPropertyValue(point, UCHAR_NUMERIC_TYPE) != U_NT_NONE;
    const bool good = kind == CharacterClass::digit    ? digit
                      : kind == CharacterClass::letter ? letter
                      : kind == CharacterClass::space  ? is_space(c)
                                                       : letter || numeric;
    if (!good) {
      return false;
    }
  }
  return !text.empty();
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text, at);
    const size_t end = at;
    at += bytes_of_character(text, at);
    if (is_line_end(c)) {
      lines.push_back(text.substr(begin, end - begin));
      at += c == '\r' && at < text.size() && text[at] == '\n' ? 1 : 0;
      begin = at;
    }
  }
  if (begin < text.size()) {
    lines.push_back(text.substr(begin));
  }
  return lines;
}

// std::string_view::find() compares again from each byte on.
size_t find_first(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) {
    return std::string_view::npos;
  }
  const void* const found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last(std::string_view text, std::string_view part) {
  const std::string mirrored(text.rbegin(), text.rend()), mirrored_part(part.rbegin(), part.rend());
  const size_t found = find_first(mirrored, mirrored_part);
  return found == std::string::npos ? found : text.size() - found - part.size();
}

std::vector<std::string_view> split(std::string_view text, const std::optional<std::string>& separator, int64_t most) {
  if (!separator) {
    return split_at_spaces(text, most);
  }
  std::vector<std::string_view> parts;
  size_t found = find_first(text, *separator);
  while (found != std::string_view::npos && (most < 0 || static_cast<int64_t>(parts.size()) < most)) {
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + separator->size());
    found = find_first(text, *separator);
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_from_right(std::string_view text, const std::optional<std::string>& separator,
                                               int64_t most) {
  if (!separator) {
    return split_at_spaces_from_right(text, most);
  }
  std::vector<std::string_view> parts;
  const std::string mirrored(text.rbegin(), text.rend()), part(separator->rbegin(), separator->rend());
  size_t done = 0, found = find_first(mirrored, part);
  while (found != std::string::npos && (most < 0 || static_cast<int64_t>(parts.size()) < most)) {
    parts.push_back(text.substr(text.size() - found, found - done));
    done = found + part.size();
    found = find_first(mirrored, part, done);
  }
  parts.push_back(text.substr(0, text.size() - done));
  std::ranges::reverse(parts);
  return parts;
}

std::string replace(Run& run, std::string_view text, std::string_view old, std::string_view with, int64_t most) {
  std::string replaced;
  int64_t done = 0;
  const auto put = [&](std::string_view part) {
    run.make(part.size());
    replaced += part;
  };
  size_t at = 0;
  while (most < 0 || done < most) {
    const size_t found = find_first(text, old, at);
    if (found == std::string_view::npos) {
      break;
    }
    put(text.substr(at, found - at));
    put(with);
    run.step();
    ++done;
    at = found + old.size();
    if (old.empty()) {  // Python puts the new text before each character, and at the end.
      if (at == text.size()) {
        return replaced;
      }
      const size_t bytes = bytes_of_character(text, at);
      put(text.substr(at, bytes));
      at += bytes;
    }
  }
  put(text.substr(at));
  return replaced;
}

}  // namespace heed::chat
