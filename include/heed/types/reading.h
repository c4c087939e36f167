// How a call that only reads texts takes its place among others.
#pragma once

#include "heed/types/interruption.h"
#include "heed/types/sharing.h"

namespace heed {

// An interruption takes effect between two batches: a call that still has texts to read throws InterruptedError then.
struct ReadingOptions {
  Interruption interruption = {};
  Sharing sharing = {};
};

}  // namespace heed
