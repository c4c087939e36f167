// Strong types for numbers whose roles must not be confused.
#pragma once

#include <compare>
#include <cstdint>

namespace heed {

template <class Tag, class Value>
struct Strong {
  Value value{};

  constexpr Strong() = default;
  constexpr explicit Strong(Value v) : value(v) {}
  constexpr auto operator<=>(const Strong&) const = default;
};

using TokenId = Strong<struct TokenIdTag, int32_t>;
using Width = Strong<struct WidthTag, int64_t>;            // columns of a hidden state
using Heads = Strong<struct HeadsTag, int64_t>;            // attention heads
using Probability = Strong<struct ProbabilityTag, float>;  // of dropping a value
using Smoothing = Strong<struct SmoothingTag, float>;      // mass of a target spread over the vocabulary

}  // namespace heed
