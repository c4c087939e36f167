// The form that a text must have.
#pragma once

#include <string>

#include "serve/call.h"

namespace heed::serve::openai {

// Where a JSON schema with its name is: in an object of its own, or beside the type.
enum class SchemaPlace : uint8_t { inside, beside };

// Sets the regular expression of {"type": "text"}, "json_object", "json_schema", and heed's own
// {"type": "regex", "regex": "..."}. `field` names the format in errors.
void read_format(const Json& format, const std::string& field, SchemaPlace place, std::string& regex);

}  // namespace heed::serve::openai
