// Another program's model as a folder of heed's.
#pragma once

#include "checkpoint/model_directory.h"
#include "heed/types/import.h"

namespace heed {

// ConfigError when `from` is no other program's model, or `to` holds a model.
ImportedModel write_imported_model(const std::filesystem::path& from, const ModelFolder& to);

}  // namespace heed
