// A check of untrusted JSON before it is parsed.
#pragma once

#include <string_view>

namespace heed {

// FormatError when arrays and objects are nested deeper than in any file of ours: code that walks over such values is
// recursive, and would overflow the stack. Accepts text that is not JSON.
void require_shallow_json(std::string_view json, std::string_view where);

}  // namespace heed
