// What a schema may say, and what two schemas say together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_schema/expressions.h"

namespace heed::json_schema {

// The types of JSON values, as bits.
using Types = uint8_t;
constexpr Types kNull = 1, kBoolean = 2, kInteger = 4, kFraction = 8, kString = 16, kArray = 32, kObject = 64,
                kNumber = kInteger | kFraction, kAnyType = 127;

// ConfigError, naming the keyword by its path, for one that is not supported.
void require_known_keywords(const Json& schema, std::string_view path);

// The types that a schema names, or else those that its keywords are about; kAnyType where it has none.
Types types_of(const Json& schema, std::string_view path);
Types type_of(const Json& value);
// ConfigError for a keyword that is about none of these types.
void require_keywords_of(Types types, const Json& schema, std::string_view path);

// Whether a schema says something about values beside keywords that only describe it.
bool constrains(const Json& schema);
// A member with a list of schemas, names or values.
const Json& list_of(const Json& schema, const char* key, std::string_view path);

// A schema of the values that both allow. Subschemas of both become an allOf. ConfigError where keywords can't be put
// together.
Json merge(const Json& a, const Json& b, std::string_view path);

// Whether no value is valid against both, as far as types, constants and the constants of required properties show.
// The schemas have neither $ref nor allOf at their top.
bool are_surely_disjoint(const Json& a, const Json& b, std::string_view path);

}  // namespace heed::json_schema
