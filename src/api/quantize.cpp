#include "heed/quantize.h"

#include "base/threads.h"
#include "quant/quantize.h"

namespace heed {

QuantizedWeights quantize(const QuantizeOptions& options) {
  return quantize_directory(ModelFolder{options.model}, ModelFolder{options.output},
                            {.types = {options.type, options.keep},
                             .group = options.group,
                             .calibration = {options.calibration, options.calibration_target},
                             .threads = thread_count(options.threads)});
}

}  // namespace heed
