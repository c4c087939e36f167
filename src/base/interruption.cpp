#include "base/interruption.h"

#include "base/errors.h"

namespace heed {

Interrupted state_of(const Interruption& interruption) {
  if (interruption.stop.stop_requested()) {
    return Interrupted::cancelled;
  }
  const bool limited = interruption.deadline != std::chrono::steady_clock::time_point::max();
  return limited && std::chrono::steady_clock::now() >= interruption.deadline ? Interrupted::deadline : Interrupted::no;
}

void require_uninterrupted(Interrupted interrupted, std::string_view where) {
  require<InterruptedError>(interrupted == Interrupted::no, where, "{}",
                            interrupted == Interrupted::deadline ? "the deadline has passed" : "the caller stopped it");
}

}  // namespace heed
