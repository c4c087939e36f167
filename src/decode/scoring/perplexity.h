// How well a language model predicts a text.
#pragma once

#include <span>
#include <vector>

#include "kernels/lanes.h"
#include "models/any_model.h"

namespace heed {

// A text longer than the context is read in windows of `context` tokens that move by `stride`: each token but the first
// is predicted once, from the context - stride + 1 to context tokens before it, or as many as there are.
struct Windows {
  int64_t context, stride;
};

// -log p of tokens 1, 2, ... of the text, natural logarithm. Needs two tokens, and 1 <= stride <= context. `lanes` are
// those of the inference's backend. InterruptedError when the interruption comes before the last windows are read.
std::vector<double> surprisals(const Inference& inference, Lanes& lanes, std::span<const int32_t> tokens,
                               const Windows& windows, const Interruption& interruption = {},
                               const Sharing& sharing = {});

}  // namespace heed
