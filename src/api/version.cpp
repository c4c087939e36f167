#include "heed/version.h"

namespace heed {

std::string version() { return HEED_VERSION; }

}  // namespace heed
