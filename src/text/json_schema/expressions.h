// Parts of regular expressions of JSON text.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::json_schema {

// Keeps the order of a schema's properties.
using Json = nlohmann::ordered_json;

// What stands between two values, and between a name and its value: a space may follow.
constexpr std::string_view kComma = ", ?", kColon = ": ?";

// How often something comes; without `most`, any number of times.
struct Counts {
  int64_t least = 0;
  std::optional<int64_t> most = {};
};

// One part, which can be repeated.
std::string group(std::string_view expression);
// One of at least one.
std::string any_of(const std::vector<std::string>& expressions);
// A part that is a character, a class or a group, again and again.
std::string repeated(std::string_view part, const Counts& counts);
// Values with commas between them.
std::string separated(std::string_view value, const Counts& counts);

// Exactly this text.
std::string exactly(std::string_view text);
// A JSON string, with escapes only where JSON needs them.
std::string exact_string(std::string_view text);
// A JSON value, with spaces where those of a schema may be.
std::string exact_value(const Json& value);

// A character of a string, with an escape only where JSON needs it; control characters but \b \f \n \r \t are left out.
std::string any_character();
std::string any_string(const Counts& characters);
// Numbers of at most 15 digits before the point and 15 after it, with an exponent of at most two digits.
std::string any_number();
// A string, number, boolean or null, or where nesting > 0 an array or object of values that nest one level less.
std::string any_value(int nesting);

}  // namespace heed::json_schema
