// Values of a whole model, collected from ranks that hold parts of it, and parts of them.
#pragma once

#include <span>
#include <vector>

#include "nn/weights/trainables.h"

namespace heed {

// Where each weight's values are, in the order of registration; empty for weights that have none.
using ValuesOfWeights = std::vector<View>;

// In memory like the masters: of the weights that are trained.
ValuesOfWeights values_in(const Trainables& trainables, View flat);
// The masters of all weights that have one.
ValuesOfWeights masters_of(const Trainables& trainables);

// Collective among the ranks that share a model. `own` has this rank's parts, `whole` the whole weights: on the first
// rank alone; on others it is empty. What is not divided is the first rank's. All are in f32.
void collect_parts(const Weights& weights, const ValuesOfWeights& own, const ValuesOfWeights& whole);
// This rank's parts of whole weights that it has too.
void take_own_parts(const Weights& weights, const ValuesOfWeights& whole, const ValuesOfWeights& own);

}  // namespace heed
