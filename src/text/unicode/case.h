// Unicode's full upper case and title case, independent of language. unicode.h has lower case.
#pragma once

#include <string>
#include <string_view>

#include "text/unicode/unicode.h"

namespace heed {

// These need well-formed UTF-8.
std::string to_upper_case(std::string_view text);
// Takes the text as one word: "ǆabc" becomes "ǅabc".
std::string to_title_case(std::string_view text);

}  // namespace heed
