#include "bench/machine.h"

#include <algorithm>

namespace heed {

// bf16 products are computed in f32, from widened operands, when the processor's own instruction is slower.
DType training_type(Precision precision) { return precision == Precision::f32 ? DType::f32 : DType::bf16; }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace heed
