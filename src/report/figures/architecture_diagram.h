// A drawing of a model, from its configuration.
#pragma once

#include <string>

#include "models/config.h"

namespace heed {

// An SVG for a page with the report's styles: the parts of a layer from bottom to top, with their widths and their
// parameters, where the norms are, and which matrices are one. The configuration must be valid.
std::string architecture_diagram(const ModelConfig& config);

}  // namespace heed
