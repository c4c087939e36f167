// Errors carry what was expected, what was found and where. The library throws; only the command line prints and exits.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "heed/errors.h"

namespace heed {

template <class Kind, class... Args>
[[noreturn]] void fail(std::string_view where, fmt::format_string<Args...> message, Args&&... args) {
  throw Kind(fmt::format("{}: {}", where, fmt::format(message, std::forward<Args>(args)...)));
}

// Requires a condition on the caller's operands.
template <class Kind = ShapeError, class... Args>
void require(bool condition, std::string_view where, fmt::format_string<Args...> message, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail<Kind, Args...>(where, message, std::forward<Args>(args)...);
  }
}

// Requires one of our own invariants.
template <class... Args>
void ensure(bool condition, std::string_view where, fmt::format_string<Args...> message, Args&&... args) {
  require<InternalError, Args...>(condition, where, message, std::forward<Args>(args)...);
}

// Requires an option's value to be what its user was asked for: "search: beam is 0, expected 1 to 1024".
template <class Value>
void require_option(bool good, std::string_view where, std::string_view name, const Value& value,
                    std::string_view expected) {
  if (!good) [[unlikely]] {
    throw OptionError(std::string(where), std::string(name), fmt::format("is {}, expected {}", value, expected));
  }
}

}  // namespace heed
