// The memory that a run needs on one rank, before any is taken.
#pragma once

#include <cstdint>

#include "nn/weights/trainables.h"
#include "optim/slice_owners.h"

namespace heed {

struct StateNeeds {
  int64_t gradients = 1;  // of a weight: of the update, and of the shard at work
  int64_t averages = 0;   // of a weight over time
  int64_t collected = 0;  // weights of the whole model whose state this rank has while it saves
};

// At least what training keeps for the weights that this rank holds and owns; activations come on top of it.
int64_t state_bytes(const Trainables& trainables, const SliceOwners& owners, const StateNeeds& needs);

// ConfigError where that is more than this process may use.
void require_memory_for_state(const Trainables& trainables, const SliceOwners& owners, const StateNeeds& needs);

}  // namespace heed
