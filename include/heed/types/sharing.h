// Which call goes first where calls wait for a model.
#pragma once

#include <cstdint>

namespace heed {

// Calls with a higher priority go first. Clients with the same priority take turns, text by text, however many calls or
// texts each of them has; so do the calls of one client. A text that has begun is not held up.
struct Sharing {
  int priority = 0;
  uint64_t client = 0;
};

}  // namespace heed
