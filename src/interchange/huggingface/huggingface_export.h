// A model of heed's as a directory of Hugging Face's libraries.
#pragma once

#include <filesystem>
#include <optional>

#include "heed/types/export.h"
#include "interchange/exported_model.h"

namespace heed {

// ConfigError, naming the setting, unless the model has the form of one of the families; it goes back to the one that it
// came from.
void require_huggingface_form(const ExportedModel& model);

// config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json, whose chat template
// stays if the folder has one already; modules of sentence-transformers where the model has such. Without a type,
// matrices keep theirs. ConfigError for tokenizers that the format cannot express.
ExportSummary write_huggingface_model(const ExportedModel& model, const std::filesystem::path& folder,
                                      std::optional<StoredType> type);

}  // namespace heed
