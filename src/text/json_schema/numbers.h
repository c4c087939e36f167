// Regular expressions of the numbers within bounds.
#pragma once

#include <optional>
#include <string>

#include "text/json_schema/expressions.h"

namespace heed::json_schema {

// A number in digits, without zeros at the beginning of the one and the end of the other: 0.5 is "0" and "5".
struct Decimal {
  bool negative = false;
  std::string whole = "0", fraction = {};

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool operator==(const Decimal&) const = default;
};

bool operator<(const Decimal& a, const Decimal& b);

// A number's value; nullopt where it would take more than 100 digits.
std::optional<Decimal> decimal_of(const Json& number);

enum class BoundKind : uint8_t { inclusive, exclusive };

struct Bound {
  Decimal value;
  BoundKind kind = BoundKind::inclusive;
};

struct NumberBounds {
  std::optional<Bound> least = {}, most = {};
};

// Integers of at most 15 digits, which a double holds exactly, within bounds. nullopt: there are none.
std::optional<std::string> integers_within(const NumberBounds& bounds);

// Numbers of at most 15 digits within at least one bound, without exponent: two of them are never the same double.
// nullopt: there are none, or a bound has more digits.
std::optional<std::string> numbers_within(const NumberBounds& bounds);

}  // namespace heed::json_schema
