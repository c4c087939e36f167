// Why a job of several ranks ends early, and how long its ranks have patience.
#pragma once

#include <string>
#include <string_view>

#include "base/errors.h"

namespace heed {

struct RankFailure {
  enum class Kind : char { error = 'e', silence = 's' };
  int rank = 0;
  Kind kind = Kind::error;
  std::string message;  // begins with the rank
};

// In seconds.
struct RankTimes {
  double silence = 15.0;  // without a heartbeat, after which a rank has failed
  double busy = 5.0;      // after a failure, until a rank that computes on is ended
  double printing = 8.0;  // until another rank prints what the first should have printed
  double ending = 3.0;    // after a failure, until ranks that have not finished are ended
};

inline std::string message_of_rank(int rank, int count, std::string_view why) {
  return why.starts_with("rank ") ? std::string(why) : fmt::format("rank {} of {}: {}", rank, count, why);
}

}  // namespace heed
