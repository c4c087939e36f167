#pragma once

#include <string>

namespace heed {

std::string version();  // "0.1.0"

}  // namespace heed
