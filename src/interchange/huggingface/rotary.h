// Rotary positions in Hugging Face's settings.
#pragma once

#include "interchange/huggingface/config_file.h"

namespace heed {

// Reads "rope_theta" and "rope_scaling", or "rope_parameters", into the rotary settings. FormatError for a scaling that
// heed lacks, for an absent base, and where the two contradict each other.
void read_rotary(ConfigFile& file, ModelConfig& config);
// The same where layers differ: those of sliding windows have a base of their own, and no scaling.
void read_rotary_by_layer(ConfigFile& file, ModelConfig& config, const std::vector<bool>& is_local);

}  // namespace heed
