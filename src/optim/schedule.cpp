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
  require<ConfigError>(!is_timed(kind) || length == 0, "schedule",
                       "a timed schedule ends with training.minutes: leave out the length of {}", length);
  require<ConfigError>(kind != ScheduleKind::trapezoid || length > warmup, "schedule",
                       "a trapezoid of length {} must be longer than its warmup of {}", length, warmup);
  require<ConfigError>(cooldown > 0.0 && cooldown <= 1.0, "schedule", "cooldown is {}, expected above 0 and at most 1",
                       cooldown);
  require<ConfigError>(kind != ScheduleKind::rising || (length > 0 && final > 0.0), "schedule",
                       "a rising rate needs a length and a final, which it begins from, above 0");
}

double learning_rate(const ScheduleConfig& schedule, int64_t update, double share_of_time) {
  const auto n = static_cast<double>(update), w = static_cast<double>(schedule.warmup);
  const auto between = [&schedule](double share) { return schedule.final + (schedule.peak - schedule.final) * share; };
  const auto half_cosine = [&](double t) { return between(0.5 * (1.0 + std::cos(std::numbers::pi * t))); };
  const auto cooling = [&](double t) { return between(std::min(1.0, (1.0 - t) / schedule.cooldown)); };
  const double warmed_up = std::min(1.0, n / std::max(1.0, w)), of_time = std::min(1.0, share_of_time);
  if (schedule.kind == ScheduleKind::timed_cosine) {
    return warmed_up * half_cosine(of_time);
  }
  if (schedule.kind == ScheduleKind::timed_trapezoid) {
    return warmed_up * cooling(of_time);
  }
  if (schedule.kind == ScheduleKind::trapezoid) {
    return warmed_up * cooling(std::min(1.0, n / static_cast<double>(schedule.length)));
  }
  if (schedule.kind == ScheduleKind::rising) {
    return schedule.final *
           std::pow(schedule.peak / schedule.final, std::min(1.0, n / static_cast<double>(schedule.length)));
  }
  if (update < schedule.warmup) {
    return schedule.peak * n / w;
  }
  switch (schedule.kind) {
    case ScheduleKind::timed_cosine:
    case ScheduleKind::trapezoid:
    case ScheduleKind::timed_trapezoid:
    case ScheduleKind::rising:
    case ScheduleKind::constant:
      return schedule.peak;
    case ScheduleKind::inverse_sqrt:
      return schedule.peak * std::sqrt(std::max(1.0, w) / n);
    case ScheduleKind::cosine:
      return half_cosine(std::min(1.0, (n - w) / (static_cast<double>(schedule.length) - w)));
  }
  return schedule.peak;
}

}  // namespace heed
