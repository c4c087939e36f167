// The cache into which rows are prefetched that are read a little later.
#pragma once

#include <cstdint>

namespace heed::cpu {

enum class CacheLevel : uint8_t { first, second };

// For keys and values in decoding, and for weights in int8, which are read from end to end. A line that is prefetched
// into the first level holds one of its few miss buffers until it comes from memory; the second level has more of them.
// On AMD Zen 4, with one thread and eight sequences of llama-134m in int8, a step after 512 tokens takes 0.61 of the
// time, and one after 32 takes 0.65. Zen 5 is the exception: there, what is prefetched into the first level comes
// sooner, and attention to long contexts takes 0.84 of the time. (Attention prefetched whole blocks when this was
// measured, not slices.)
CacheLevel level_for_blocks();

}  // namespace heed::cpu
