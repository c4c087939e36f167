// What a Hugging Face directory says about decoding: generation_config.json, or else config.json.
#pragma once

#include <filesystem>

#include "interchange/exported_model.h"
#include "interchange/foreign_model.h"
#include "interchange/huggingface/config_file.h"

namespace heed {

// Reads it into the model: marks and defaults, what they were read from, and what heed lacks. `file` is config.json.
// FormatError where a value has another type, or a token is none of the model's.
void read_generation_settings(const std::filesystem::path& folder, ConfigFile& file, ForeignModel& model);

// Adds to a generation_config.json what read_generation_settings() finds the same defaults in, and the marks that have to
// do with them: tokens that are never written, and what becomes of a translation at its limit.
void write_decoding(const ExportedModel& model, ConfigFile& file);

}  // namespace heed
