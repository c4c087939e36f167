// A model of heed's as a GGUF file.
#pragma once

#include <filesystem>

#include "heed/types/export.h"
#include "interchange/exported_model.h"

namespace heed {

// ConfigError, naming the setting, unless the model has one of the forms that a GGUF file can hold.
void require_gguf_form(const ExportedModel& model);
ExportSummary write_gguf_model(const ExportedModel& model, const std::filesystem::path& to, GgufType type);

}  // namespace heed
