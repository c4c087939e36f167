// What happens to a text of more tokens than a model takes.
#pragma once

#include <cstdint>

namespace heed {

// It is refused, or its last tokens are dropped.
enum class Overlong : uint8_t { refuse, truncate };

}  // namespace heed
