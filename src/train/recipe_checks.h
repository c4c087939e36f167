// Helpers that check recipes.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/errors.h"

namespace heed {

// ConfigError unless the condition holds.
template <class... Args>
void check(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  require<ConfigError, Args...>(condition, "recipe", message, std::forward<Args>(args)...);
}

inline void check_at_least(std::string_view name, int64_t value, int64_t minimum) {
  check(value >= minimum, "{} is {}, expected at least {}", name, value, minimum);
}

}  // namespace heed
