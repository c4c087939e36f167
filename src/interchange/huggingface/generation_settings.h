// What a Hugging Face directory says about decoding: generation_config.json, or else config.json.
#pragma once

#include <filesystem>

#include "interchange/exported_model.h"
#include "interchange/foreign_model.h"
#include "interchange/huggingface/config_file.h"

namespace heed {

// Reads marks and defaults into the model, with where each was read and what heed lacks. `file` is config.json.
// FormatError where a value has another type or the model lacks a token.
void read_generation_settings(const std::filesystem::path& folder, ConfigFile& file, ForeignModel& model);

// Adds to a generation_config.json the defaults, as read_generation_settings() reads them, and the marks that concern
// them: tokens that are never written, and what becomes of a translation at its limit.
void write_decoding(const ExportedModel& model, ConfigFile& file);

}  // namespace heed
