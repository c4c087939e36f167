// JSON of a given form: regular expressions for GenerationOptions::regex.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// A regular expression of JSON texts that are valid against a JSON schema (draft 2020-12). ConfigError, naming the
// keyword by its path, for a schema that has other keywords than these, that allows no value, or whose expression would
// be too long. `where` names the schema in errors.
//   all values   type (also a list), enum, const, $ref into the schema and not to itself, $defs, definitions, anyOf;
//                allOf, unless two values of one keyword can't be put together; oneOf, where types, constants, or a
//                required property with other constants in each show that a value is valid against one branch alone
//   objects      properties, required, additionalProperties; minProperties and maxProperties where they change nothing
//                or no properties are named. Properties come in the schema's order, others only where it names none
//   arrays       items, prefixItems, minItems, maxItems
//   strings      minLength, maxLength; pattern, in the syntax of GenerationOptions::regex and with ^ and $ at the ends
//                of its branches; format date, time, date-time, uuid, email, ipv4. All that matches one of these must
//                have a length that minLength and maxLength allow
//   numbers      minimum, maximum, exclusiveMinimum, exclusiveMaximum
//   ignored      title, description, default, examples, deprecated, readOnly, writeOnly, $schema, $comment,
//                discriminator
// Not all valid texts match: numbers have at most 15 digits, strings only the escapes that JSON needs, and a space may
// stand after a comma or a colon and before the text, nowhere else. What a schema leaves open nests at most two deep.
std::string regex_of_json_schema(std::string_view schema, std::string_view where = "JSON schema");

// A regular expression of JSON objects in which arrays and objects nest at most four deep, the outermost counted.
std::string regex_of_json_object();

}  // namespace heed
