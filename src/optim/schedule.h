// How the learning rate changes from update to update (counted from 1), with `peak` and w updates of warm-up:
//   constant       peak min(1, n / w)
//   inverse-sqrt   peak min(n / w, sqrt(w / n))
//   cosine         peak n / w up to w, then final + (peak - final) (1 + cos(pi t)) / 2, t = (n - w) / (length - w) <= 1
#pragma once

#include <cstdint>

namespace heed {

enum class ScheduleKind : uint8_t { constant, inverse_sqrt, cosine };

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 5e-4;
  double final = 0.0;     // of cosine
  int64_t warmup = 4000;  // updates
  int64_t length = 0;     // of cosine, in updates, warm-up included

  void validate() const;
};

double learning_rate(const ScheduleConfig& schedule, int64_t update);

}  // namespace heed
