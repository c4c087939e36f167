// Writing a model in another program's format.
#pragma once

#include "heed/types/export.h"

namespace heed {

// Writes a model with its tokenizers in another program's format; docs/models/export.md says which models have a form
// there. The output is complete, or nothing is left. ConfigError names the setting that does not fit, FormatError and
// IoError what is wrong with a file.
ExportSummary export_model(const ExportOptions& options);

}  // namespace heed
