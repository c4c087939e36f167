// Measuring time.
#pragma once

#include <chrono>

namespace heed {

// Seconds since a fixed moment; never goes backwards.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace heed
