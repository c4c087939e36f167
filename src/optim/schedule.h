// How the learning rate changes from update to update (counted from 1), with `peak` and w updates of warm-up:
//   constant       peak min(1, n / w)
//   inverse-sqrt   peak min(n / w, sqrt(w / n))
//   cosine         peak n / w up to w, then final + (peak - final) (1 + cos(pi t)) / 2, t = (n - w) / (length - w) <= 1
//   rising         final (peak / final)^(n / length) up to the peak, to find the rates at which a model learns
//   timed-cosine   min(1, n / w) (final + (peak - final) (1 + cos(pi t)) / 2), t the share of the run's time
//   trapezoid      min(1, n / w) (final + (peak - final) min(1, (1 - t) / c)), t = n / length <= 1, c the cooldown
//   timed-trapezoid  the same, t the share of the run's time
#pragma once

#include <cstdint>

namespace heed {

enum class ScheduleKind : uint8_t { constant, inverse_sqrt, cosine, timed_cosine, trapezoid, timed_trapezoid, rising };

// Whether rates follow the clock.
inline bool is_timed(ScheduleKind kind) {
  return kind == ScheduleKind::timed_cosine || kind == ScheduleKind::timed_trapezoid;
}

// Whether rates go down to the end of a number of updates.
inline bool has_length(ScheduleKind kind) { return kind == ScheduleKind::cosine || kind == ScheduleKind::trapezoid; }

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 5e-4;
  double final = 0.0;     // of cosines and trapezoids; of rising the rate that it begins from
  int64_t warmup = 4000;  // updates
  int64_t length = 0;     // of cosine and trapezoid, in updates, warm-up included; of rising
  double cooldown = 0.5;  // of trapezoids: the share of the run, at its end, in which the rate goes down

  void validate() const;
};

// `share_of_time`, from 0 to 1, is that of the time which the run has; only timed schedules follow it.
double learning_rate(const ScheduleConfig& schedule, int64_t update, double share_of_time = 0.0);

}  // namespace heed
