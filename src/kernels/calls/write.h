// What happens to the former contents of a gradient.
#pragma once

#include <cstdint>

namespace heed {

enum class Write : uint8_t { overwrite, add };

}  // namespace heed
