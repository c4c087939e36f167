// The median of measurements, which a few disturbed ones do not move.
#pragma once

#include <vector>

namespace heed {

// With an even number of values, the upper of the two in the middle. There must be at least one value.
double median(std::vector<double> values);

}  // namespace heed
