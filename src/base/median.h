// The median of measurements, which a few disturbed ones do not move.
#pragma once

#include <vector>

namespace heed {

// Of an even number of values the upper one of the two in the middle. There is at least one value.
double median(std::vector<double> values);

}  // namespace heed
