// Model directories of Hugging Face's libraries: config.json, weights, tokenizers.
#pragma once

#include <filesystem>

#include "interchange/foreign_model.h"

namespace heed {

// By its files alone: a config.json that names a type of model, and weights.
bool is_huggingface_model(const std::filesystem::path& folder);

// Reads the settings, and the names and shapes of the tensors. FormatError or IoError for a file that is missing or
// wrong, and for what the model needs and heed lacks.
ForeignModel read_huggingface_model(const std::filesystem::path& folder);

}  // namespace heed
