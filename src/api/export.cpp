#include "heed/export.h"

#include "interchange/gguf/gguf_export.h"

namespace heed {

GgufSummary export_gguf(const GgufOptions& options) {
  return write_gguf_model(ModelFolder{options.model}, options.output, options.type);
}

}  // namespace heed
