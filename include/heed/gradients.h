// A model's weights, and the gradients of its loss, as training sees them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "heed/types/forward.h"

namespace heed {

// The weights of a model directory, or of another program's model, in f32. FormatError for quantized ones, and for
// more than fit in memory.
std::vector<NamedArray> read_weights(const std::string& directory);

// Runs the examples through the model as one batch, forward and backward, in f32 and without dropout. A language model
// predicts each token but the first. `threads` 0: one per processor. Opens the weights anew in each call. Throws, before
// anything is computed, as read_weights() does; ConfigError for a model without a head; and FormatError, naming the
// example, for tokens that are none, for more than the model takes, and for what does not fit its head.
LossGradients loss_gradients(const std::string& directory, std::span<const LossExample> batch, int threads = 0);

}  // namespace heed
