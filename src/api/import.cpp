#include "heed/import.h"

#include "checkpoint/imported_model.h"

namespace heed {

ImportedModel import_model(const ImportOptions& options) {
  return write_imported_model(options.source, ModelFolder{options.output}, options.interruption);
}

}  // namespace heed
