// Texts of more tokens than there is room for.
#pragma once

#include <array>
#include <cstdint>

#include "heed/types/names.h"

namespace heed {

// What happens to a text of too many tokens: truncated, a text loses tokens at its end, and a prompt, which is to be
// continued, at its beginning. Where a text cannot be left out, drop refuses it.
enum class TooLong : uint8_t { drop, truncate, refuse };

inline constexpr std::array<NamedValue<TooLong>, 3> kTooLongNames{
    {{"drop", TooLong::drop}, {"truncate", TooLong::truncate}, {"refuse", TooLong::refuse}}};

}  // namespace heed
