// Another program's model as a folder of heed's.
#pragma once

#include "checkpoint/model_directory.h"
#include "heed/types/import.h"

namespace heed {

// ConfigError when `from` is no other program's model, or `to` holds a model. InterruptedError when the interruption
// comes first; then nothing is left.
ImportedModel write_imported_model(const std::filesystem::path& from, const ModelFolder& to,
                                   const Interruption& interruption = {});

}  // namespace heed
