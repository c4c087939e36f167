// How the learning rate changes from update to update (counted from 1), with `peak` and w updates of warm-up:
//   constant       peak min(1, n / w)
//   inverse-sqrt   peak min(n / w, sqrt(w / n))
//   cosine         peak n / w up to w, then final + (peak - final) (1 + cos(pi t)) / 2, t = (n - w) / (length - w) <= 1
//   timed-cosine   min(1, n / w) (final + (peak - final) (1 + cos(pi t)) / 2), t the share of the run's time
#pragma once

#include <cstdint>

namespace heed {

enum class ScheduleKind : uint8_t { constant, inverse_sqrt, cosine, timed_cosine };

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 5e-4;
  double final = 0.0;     // of the cosines
  int64_t warmup = 4000;  // updates
  int64_t length = 0;     // of cosine, in updates, warm-up included

  void validate() const;
};

// `share_of_time`, from 0 to 1, is that of the time which the run has; only the timed cosine follows it.
double learning_rate(const ScheduleConfig& schedule, int64_t update, double share_of_time = 0.0);

}  // namespace heed
