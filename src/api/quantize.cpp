#include "heed/quantize.h"

#include "quant/quantize.h"

namespace heed {

QuantizedWeights quantize(const QuantizeOptions& options) {
  return quantize_directory(ModelFolder{options.model}, ModelFolder{options.output}, {options.type, options.keep});
}

}  // namespace heed
