// Division of integers that rounds up.
#pragma once

#include <concepts>

namespace heed {

// How many units it takes to hold n, which is not negative.
template <std::integral N, std::integral Unit>
constexpr auto ceil_div(N n, Unit unit) {
  return (n + unit - 1) / unit;
}

// The least multiple of the unit that is not below n.
template <std::integral N, std::integral Unit>
constexpr auto round_up(N n, Unit unit) {
  return ceil_div(n, unit) * unit;
}

}  // namespace heed
