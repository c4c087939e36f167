// Regular expressions of JSON strings whose text matches a pattern or has a format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/json_schema/expressions.h"

namespace heed::json_schema {

// A string in which a pattern of ECMAScript is found: anywhere, unless ^ and $ hold it to the ends. A class that
// excludes characters excludes Unicode's white space and control characters too. ConfigError, naming `where`, for what
// heed's expressions do not know, and for patterns that also match texts whose number of characters is not within
// `length`.
std::string string_of_pattern(std::string_view pattern, const Counts& length, std::string_view where);

// The same for date, time, date-time, uuid, email and ipv4; nullopt for another format.
std::optional<std::string> string_of_format(std::string_view format, const Counts& length, std::string_view where);

}  // namespace heed::json_schema
