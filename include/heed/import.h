// Making a model directory of heed's from another program's model.
#pragma once

#include "heed/types/import.h"

namespace heed {

// Every command reads such models as they are; an own directory is smaller to keep, and begins training and quantizing
// without the source. Matrices keep their floating type. FormatError for what the model needs and heed lacks.
ImportedModel import_model(const ImportOptions& options);

}  // namespace heed
