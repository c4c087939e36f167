// How a call that only reads texts takes its place among others.
#pragma once

#include <cstdint>
#include <functional>

#include "heed/types/interruption.h"
#include "heed/types/sharing.h"
#include "heed/types/too_long.h"

namespace heed {

// The side on which a text loses tokens.
enum class CutAt : uint8_t { end, beginning };

// An interruption takes effect between two batches: a call that still has texts to read throws InterruptedError then.
struct ReadingOptions {
  Interruption interruption = {};
  Sharing sharing = {};
  // Where texts are embedded or classified. Truncated, a text keeps its special tokens, and of a pair the longer text
  // loses tokens first.
  TooLong too_long = TooLong::refuse;
  CutAt cut_at = CutAt::end;
  // Is told once, before anything is read, how many tokens will be, marks included.
  std::function<void(int64_t tokens)> on_tokens = {};
};

}  // namespace heed
