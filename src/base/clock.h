// Time that passes, for measuring.
#pragma once

#include <chrono>

namespace heed {

// Seconds since a moment that stays the same while the program runs; it never goes back.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace heed
