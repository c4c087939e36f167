#include "text/unicode/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/errors.h"

namespace heed {
namespace {

// Reads one code point and moves `at` past it; negative when it is not well formed.
UChar32 next_code_point(std::string_view text, size_t& at) {
  UChar32 code_point = 0;
  U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, text.size(), code_point);
  return code_point;
}

}  // namespace

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (next_code_point(text, at) < 0) {
      return start;
    }
  }
  return std::nullopt;
}

void require_text(std::string_view line, std::string_view where) {
  const std::optional<size_t> invalid = find_invalid_utf8(line);
  require<FormatError>(!invalid, where, "byte {} of the line is not UTF-8", invalid.value_or(0) + 1);
  const size_t nul = line.find('\0');
  require<FormatError>(nul == std::string_view::npos, where,
                       "byte {} of the line is NUL; is the file UTF-16, or not text?", nul + 1);
}

void require_text_lines(std::string_view text, std::string_view where) {
  for (int64_t line = 1;; ++line) {
    const size_t end = text.find('\n');
    require_text(text.substr(0, end), fmt::format("{}:{}", where, line));
    if (end == std::string_view::npos) {
      return;
    }
    text.remove_prefix(end + 1);
  }
}

std::u32string to_code_points(std::string_view text) {
  std::u32string code_points;
  code_points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const UChar32 code_point = next_code_point(text, at);
    require<FormatError>(code_point >= 0, "text", "byte {} is not UTF-8", start);
    code_points.push_back(static_cast<char32_t>(code_point));
  }
  return code_points;
}

std::string to_utf8(std::u32string_view code_points) {
  std::string text;
  text.reserve(code_points.size());
  for (const char32_t code_point : code_points) {
    require<FormatError>(code_point <= 0x10ffff && !U_IS_SURROGATE(code_point), "text", "{:#x} is not a character",
                         static_cast<uint32_t>(code_point));
    uint8_t bytes[U8_MAX_LENGTH];
    size_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, code_point);
    text.append(reinterpret_cast<const char*>(bytes), size);
  }
  return text;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\n\r\f\v") == std::string_view::npos; }

bool has_letter(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (u_isalpha(next_code_point(text, at))) {
      return true;
    }
  }
  return false;
}

std::string replace_invalid_utf8(std::string text) {
  if (!find_invalid_utf8(text)) {
    return text;
  }
  std::string repaired;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    repaired += next_code_point(text, at) < 0 ? "\xef\xbf\xbd" : std::string_view(text).substr(start, at - start);
  }
  return repaired;
}

std::string to_lower_case(std::string_view text) {
  std::string lower;
  icu::StringByteSink<std::string> sink(&lower, static_cast<int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                            status);
  ensure(U_SUCCESS(status), "text", "lower case: {}", u_errorName(status));
  return lower;
}

}  // namespace heed
