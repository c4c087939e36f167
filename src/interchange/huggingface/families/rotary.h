// Rotary positions in Hugging Face's settings.
#pragma once

#include <string_view>
#include <vector>

#include "interchange/huggingface/config_file.h"

namespace heed {

// Reads the base and "rope_scaling", or "rope_parameters", into the rotary settings, or writes the first two. FormatError
// for a scaling that heed lacks, and where the two contradict each other.
void exchange_rotary(ConfigFile& file, ModelConfig& config, std::string_view base_key = "rope_theta");
// Which part of each head is rotated. FormatError unless it is above 0 and at most 1.
void exchange_rotated_part(ConfigFile& file, ModelConfig& config, std::string_view part_key, double absent);
// As exchange_rotary() where layers differ: those of sliding windows have a base of their own, and no scaling.
// FormatError for an absent base, too.
void exchange_rotary_by_layer(ConfigFile& file, ModelConfig& config, const std::vector<bool>& is_local);

}  // namespace heed
