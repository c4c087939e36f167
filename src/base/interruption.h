// Whether a call is to end before its texts are done.
#pragma once

#include <cstdint>
#include <string_view>

#include "heed/types/interruption.h"

namespace heed {

// Why: its caller stopped it, or its deadline has passed.
enum class Interrupted : uint8_t { no, cancelled, deadline };

Interrupted state_of(const Interruption& interruption);

// InterruptedError, which says why.
void require_uninterrupted(Interrupted interrupted, std::string_view where);

}  // namespace heed
