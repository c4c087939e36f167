// Counts in messages: "1 token", "2 tokens".
#pragma once

#include <cstdint>
#include <string_view>

namespace heed {

// What follows a noun after its count.
constexpr std::string_view plural(int64_t count) { return count == 1 ? "" : "s"; }

}  // namespace heed
