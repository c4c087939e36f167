// How much each key has used of what it may use.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "serve/settings/serve_settings.h"

namespace heed::serve {

// Safe to use from several threads at once.
class Quotas {
 public:
  using Clock = std::chrono::steady_clock;

  // Counts a request. Where it exceeds a quota it does not count, and the result is the time after which the client may
  // try again.
  std::optional<std::chrono::seconds> begin(const KeySettings& key, Clock::time_point now = Clock::now());
  void count_tokens(const KeySettings& key, int64_t tokens);

 private:
  // What was used since `since`.
  struct Window {
    Clock::time_point since;
    int64_t used = 0;
  };
  struct Use {
    Window requests, tokens;
  };
  static std::optional<std::chrono::seconds> until_room(Window& window, std::chrono::seconds length, int64_t limit,
                                                        Clock::time_point now);

  std::mutex mutex_;
  std::map<std::string, Use, std::less<>> uses_;  // by the keys' names
};

}  // namespace heed::serve
