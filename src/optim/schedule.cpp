#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/errors.h"

namespace heed {

void ScheduleConfig::validate() const {
  require<ConfigError>(std::isfinite(peak) && peak > 0.0, "schedule", "peak is {}, expected above 0", peak);
  require<ConfigError>(final >= 0.0 && final <= peak, "schedule", "final is {}, expected 0 to the peak of {}", final,
                       peak);
  require<ConfigError>(warmup >= 0, "schedule", "warmup is {}, expected at least 0", warmup);
  require<ConfigError>(length >= 0, "schedule", "length is {}, expected at least 0", length);
  require<ConfigError>(kind != ScheduleKind::cosine || length > warmup, "schedule",
                       "a cosine of length {} must be longer than its warmup of {}", length, warmup);
  require<ConfigError>(kind != ScheduleKind::timed_cosine || length == 0, "schedule",
                       "a timed-cosine ends with training.minutes: leave out the length of {}", length);
}

double learning_rate(const ScheduleConfig& schedule, int64_t update, double share_of_time) {
  const auto n = static_cast<double>(update), w = static_cast<double>(schedule.warmup);
  const auto at_share = [&schedule](double t) {
    return schedule.final + (schedule.peak - schedule.final) * 0.5 * (1.0 + std::cos(std::numbers::pi * t));
  };
  if (schedule.kind == ScheduleKind::timed_cosine) {
    return std::min(1.0, n / std::max(1.0, w)) * at_share(std::min(1.0, share_of_time));
  }
  if (update < schedule.warmup) {
    return schedule.peak * n / w;
  }
  switch (schedule.kind) {
    case ScheduleKind::timed_cosine:
    case ScheduleKind::constant:
      return schedule.peak;
    case ScheduleKind::inverse_sqrt:
      return schedule.peak * std::sqrt(std::max(1.0, w) / n);
    case ScheduleKind::cosine:
      return at_share(std::min(1.0, (n - w) / (static_cast<double>(schedule.length) - w)));
  }
  return schedule.peak;
}

}  // namespace heed
