// Running a model on given tokens, with what its layers compute.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heed/types/forward.h"
#include "models/any_model.h"

namespace heed {

// FormatError, naming `where`, unless there are 1 to `most` tokens of the vocabulary.
void require_tokens(std::span<const int32_t> tokens, int64_t vocabulary, int64_t most, std::string_view where);

// A matrix of the backend's, of any float type, in the host's memory.
NumberArray numbers_of(Backend& backend, const ConstView& view);

// An ensemble shows its first model. FormatError as above; ConfigError for more numbers than fit in memory.
ForwardResult forward_of_pair(const Inference& inference, const PairTokens& tokens, const ForwardRequest& request);
// For a language model or an encoder.
ForwardResult forward_of_text(const Inference& inference, std::span<const int32_t> tokens,
                              const ForwardRequest& request);

}  // namespace heed
