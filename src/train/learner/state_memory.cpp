#include "train/learner/state_memory.h"

#include <algorithm>

#include "base/errors.h"
#include "base/system/memory.h"

namespace heed {

int64_t state_bytes(const Trainables& trainables, const SliceOwners& owners, const StateNeeds& needs) {
  const int64_t value = size_of(trainables.masters().type()),
                copy = trainables.copies().empty() ? 0 : size_of(trainables.copies().type());
  const int64_t state = value * (3 + needs.averages);  // masters and two moments
  int64_t bytes = 0;
  for (size_t i = 0; i < owners.slices().size(); ++i) {
    const WeightSlice& slice = owners.slices()[i];
    if (trainables.has_gradient(slice.weight)) {
      bytes += slice.count * (value * needs.gradients + copy);
      bytes += slice.count * (owners.is_own(i) ? state : copy == 0 ? value : 0);
    }
  }
  return std::max(bytes, needs.collected * state);
}

void require_memory_for_state(const Trainables& trainables, const SliceOwners& owners, const StateNeeds& needs) {
  const auto gigabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  const int64_t needed = state_bytes(trainables, owners, needs), there = usable_memory();
  require<ConfigError>(needed <= there, "memory",
                       "weights, gradients and the optimizer's state take {:.2f} GB, but only {:.2f} can be used here: "
                       "a smaller model may do, or more ranks that divide this one (training.layout)",
                       gigabytes(needed), gigabytes(there));
}

}  // namespace heed
