#include "text/unicode/case.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/stringoptions.h>

#include "base/errors.h"

namespace heed {
namespace {

icu::StringPiece piece_of(std::string_view text) { return {text.data(), static_cast<int32_t>(text.size())}; }

}  // namespace

std::string to_upper_case(std::string_view text) {
  std::string upper;
  icu::StringByteSink<std::string> sink(&upper, static_cast<int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToUpper("", 0, piece_of(text), sink, nullptr, status);
  ensure(U_SUCCESS(status), "text", "upper case: {}", u_errorName(status));
  return upper;
}

std::string to_title_case(std::string_view text) {
  std::string title;
  icu::StringByteSink<std::string> sink(&title, static_cast<int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToTitle("", U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT, nullptr, piece_of(text),
                            sink, nullptr, status);
  ensure(U_SUCCESS(status), "text", "title case: {}", u_errorName(status));
  return title;
}

}  // namespace heed
