// JSON from outside, before values are made of it.
#pragma once

#include <string_view>

namespace heed {

// FormatError when arrays and objects lie deeper in each other than any file of ours: whatever walks over such values
// calls itself, and would run out of stack. Of text that is not JSON it says nothing.
void require_shallow_json(std::string_view json, std::string_view where);

}  // namespace heed
