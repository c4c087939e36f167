#include "ops/roles.h"

#include <algorithm>

namespace heed {

int64_t Targets::counted() const {
  return std::ranges::count_if(ids_, [](int32_t id) { return id >= 0; });
}

}  // namespace heed
