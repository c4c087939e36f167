#include "bench/machine.h"

#include <algorithm>

namespace heed {

// bf16 products are f32 ones, of widened operands, where the processor's own instruction for them is slower.
DType training_type(Precision precision) { return precision == Precision::f32 ? DType::f32 : DType::bf16; }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace heed
