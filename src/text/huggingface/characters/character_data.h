// The generated tables behind characters.h.
#pragma once

#include <cstdint>
#include <span>

namespace heed::huggingface {

// Letters first, first + step, ..., last, each `delta` code points before its small letter.
struct LowerCaseRun {
  uint32_t first, last, step;
  int32_t delta;
};

// A record is a category (5 bits), a grapheme break class (4 bits) and flags, see characters.h.
std::span<const uint32_t> character_records();
// Pairs: how many code points have a record, and which; all code points from 0 on.
std::span<const uint32_t> character_runs();
std::span<const LowerCaseRun> lower_case_runs();

}  // namespace heed::huggingface
