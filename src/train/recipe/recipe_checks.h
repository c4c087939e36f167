// Helpers that check recipes.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/errors.h"

namespace heed {

inline constexpr int64_t kMaxTokenMegabytes = 1 << 24;  // of data.memory_megabytes

// ConfigError unless the condition holds.
template <class... Args>
void check(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  require<ConfigError, Args...>(condition, "recipe", message, std::forward<Args>(args)...);
}

// ConfigError, with the key's name, unless the value is in range.
template <class T>
void check_at_least(std::string_view key, T value, std::type_identity_t<T> minimum) {
  check(value >= minimum, "{} is {}, expected at least {}", key, value, minimum);
}

template <class T>
struct Limits {
  T least, most;
};
template <class T>
void check_between(std::string_view key, T value, const Limits<std::type_identity_t<T>>& limits) {
  check(value >= limits.least && value <= limits.most, "{} is {}, expected {} to {}", key, value, limits.least,
        limits.most);
}

inline void check_fraction(std::string_view key, double value) {
  check(value >= 0.0 && value < 1.0, "{} is {}, expected at least 0 and below 1", key, value);
}

}  // namespace heed
