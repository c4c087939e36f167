// Whether upper and lower case are distinguished.
#pragma once

#include <cstdint>

namespace heed {

enum class LetterCase : uint8_t { kept, lower };  // lower: converted to lower case before anything else

}  // namespace heed
