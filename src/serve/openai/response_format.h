// The form that a text must have.
#pragma once

#include "serve/call.h"

namespace heed::serve::openai {

// Sets the regular expression of {"type": "text"}, "json_object", "json_schema", and heed's own
// {"type": "regex", "regex": "..."}. `path` is in front of the field's name in messages: "text.".
void read_format(const Json& format, const std::string& field, std::string& regex);

}  // namespace heed::serve::openai
