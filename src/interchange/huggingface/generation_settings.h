// What a Hugging Face directory says about decoding: generation_config.json, or else config.json.
#pragma once

#include <filesystem>

#include "interchange/foreign_model.h"
#include "interchange/huggingface/config_file.h"

namespace heed {

// Reads it into the model: marks and defaults, what they were read from, and what heed lacks. `file` is config.json.
// FormatError where a value has another type, or a token is none of the model's.
void read_generation_settings(const std::filesystem::path& folder, ConfigFile& file, ForeignModel& model);

}  // namespace heed
