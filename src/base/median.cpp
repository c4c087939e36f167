#include "base/median.h"

#include <algorithm>
#include <cstdint>

namespace heed {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace heed
