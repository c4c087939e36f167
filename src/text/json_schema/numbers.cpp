// A set of numbers is written digit by digit: as long as the digits are those of a bound, the next digit is limited by
// it; after the first that differs, all digits may follow.
#include "text/json_schema/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace heed::json_schema {
namespace {

constexpr size_t kMostDigits = 15;  // of numbers that doubles tell from each other
constexpr size_t kOpenDigits = 9;   // before the point at least, where a bound is missing

std::string digit_between(char first, char last) {
  return first == last ? std::string(1, first) : fmt::format("[{}-{}]", first, last);
}

std::string digits(size_t least, size_t most) {
  return most == 0 ? "" : least == most ? fmt::format("\\d{{{}}}", least) : fmt::format("\\d{{{},{}}}", least, most);
}

// Digits as many as both bounds have, which are in order.
std::string digits_within(std::string_view least, std::string_view most) {
  const size_t size = least.size();
  if (least.find_first_not_of('0') == std::string_view::npos && most.find_first_not_of('9') == std::string_view::npos) {
    return digits(size, size);
  }
  const char low = least[0], high = most[0];
  if (low == high) {
    return low + digits_within(least.substr(1), most.substr(1));
  }
  std::vector<std::string> parts;
  const std::string zeros(size - 1, '0'), nines(size - 1, '9');
  const bool low_is_full = least.substr(1) == zeros, high_is_full = most.substr(1) == nines;
  if (!low_is_full) {
    parts.push_back(low + digits_within(least.substr(1), nines));
  }
  const char first = static_cast<char>(low + (low_is_full ? 0 : 1)),
             last = static_cast<char>(high - (high_is_full ? 0 : 1));
  if (first <= last) {
    parts.push_back(digit_between(first, last) + digits(size - 1, size - 1));
  }
  if (!high_is_full) {
    parts.push_back(high + digits_within(zeros, most.substr(1)));
  }
  return any_of(parts);
}

bool is_less(std::string_view a, std::string_view b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

// The numbers between two, which are in order, as they are written without zeros before them.
std::string whole_within(const std::string& least, const std::string& most) {
  std::vector<std::string> parts;
  for (size_t size = least.size(); size <= most.size(); ++size) {
    const std::string low = size == least.size() ? least : "1" + std::string(size - 1, '0');
    const std::string high = size == most.size() ? most : std::string(size, '9');
    parts.push_back(digits_within(low, high));
  }
  return any_of(parts);
}

std::string plus_one(std::string number) {
  for (size_t i = number.size(); i-- > 0;) {
    if (number[i] != '9') {
      ++number[i];
      return number;
    }
    number[i] = '0';
  }
  return "1" + number;
}

// The number is above zero.
std::string minus_one(std::string number) {
  for (size_t i = number.size(); i-- > 0;) {
    if (number[i] != '0') {
      --number[i];
      break;
    }
    number[i] = '9';
  }
  return number.size() > 1 && number[0] == '0' ? number.substr(1) : number;
}

// A bound for the digits that are still to come after a point.
struct Limit {
  std::string_view digits;
  BoundKind kind;

  Limit rest() const { return {digits.empty() ? digits : digits.substr(1), kind}; }
  char digit() const { return digits.empty() ? '0' : digits[0]; }
};

// What may follow: nothing, and one of the texts of an expression, of at least one digit each ("": there are none).
struct Tail {
  bool nothing = false;
  std::string some = {};

  bool is_impossible() const { return !nothing && some.empty(); }
};

std::string optional_tail(const std::string& prefix, const Tail& tail) {
  return tail.some.empty() ? prefix : prefix + (tail.nothing ? group(tail.some) + "?" : tail.some);
}

Tail tail_within(std::optional<Limit> least, const std::optional<Limit>& most, size_t room) {
  if (least && least->digits.empty() && least->kind == BoundKind::inclusive) {
    least.reset();
  }
  Tail tail{.nothing = !least && (!most || !most->digits.empty() || most->kind == BoundKind::inclusive)};
  if (room == 0 || (most && most->digits.empty() && (least || most->kind == BoundKind::exclusive))) {
    return tail;
  }
  if (!least && !most) {
    tail.some = digits(1, room);
    return tail;
  }
  if (!least && most->digits.empty()) {
    tail.some = fmt::format("0{{1,{}}}", room);
    return tail;
  }
  if (least && least->digits.empty() && !most) {
    tail.some = digits(0, room - 1) + "[1-9]";
    return tail;
  }
  const char low = least ? least->digit() : '0', high = most ? most->digit() : '9';
  std::vector<std::string> parts;
  const auto add = [&](char digit, const Tail& more) {
    if (!more.is_impossible()) {
      parts.push_back(optional_tail(std::string(1, digit), more));
    }
  };
  if (least && most && low == high) {
    add(low, tail_within(least->rest(), most->rest(), room - 1));
  } else if (low <= high) {
    if (least) {
      add(low, tail_within(least->rest(), std::nullopt, room - 1));
    }
    const char first = static_cast<char>(low + (least ? 1 : 0)), last = static_cast<char>(high - (most ? 1 : 0));
    if (first <= last) {
      parts.push_back(digit_between(first, last) + digits(0, room - 1));
    }
    if (most) {
      add(high, tail_within(std::nullopt, most->rest(), room - 1));
    }
  }
  tail.some = parts.empty() ? "" : any_of(parts);
  return tail;
}

// Whole numbers of a range, each followed by such digits after a point.
void add_with_fraction(const std::string& whole, const Tail& tail, std::vector<std::string>& parts) {
  if (!tail.is_impossible()) {
    parts.push_back(tail.some.empty() ? whole : optional_tail(whole, {tail.nothing, "\\." + tail.some}));
  }
}

// Numbers that are not negative, between bounds that are not.
std::vector<std::string> magnitudes_within(const Bound& least, const Bound& most, size_t places) {
  const Limit low{least.value.fraction, least.kind}, high{most.value.fraction, most.kind};
  std::vector<std::string> parts;
  const std::string &first = least.value.whole, &last = most.value.whole;
  if (is_less(last, first)) {
    return parts;
  }
  if (first == last) {
    add_with_fraction(first, tail_within(low, high, places), parts);
    return parts;
  }
  // Between the two, and at a bound that limits no digit, whatever follows the point.
  std::string from = first, to = last;
  if (!low.digits.empty() || low.kind == BoundKind::exclusive) {
    add_with_fraction(first, tail_within(low, std::nullopt, places), parts);
    from = plus_one(first);
  }
  if (places > 0 || high.kind == BoundKind::exclusive) {
    add_with_fraction(last, tail_within(std::nullopt, high, places), parts);
    to = minus_one(last);
  }
  if (!is_less(to, from)) {
    add_with_fraction(whole_within(from, to), tail_within(std::nullopt, std::nullopt, places), parts);
  }
  return parts;
}

Bound turned(Bound bound) {
  bound.value.negative = !bound.value.negative && !bound.value.is_zero();
  return bound;
}

// Both signs: below zero, what mirrors the magnitudes. Zero has no sign.
std::optional<std::string> with_signs(const Bound& least, const Bound& most, size_t places) {
  const Bound zero{}, above_zero{{}, BoundKind::exclusive};
  std::vector<std::string> parts;
  if (least.value.negative) {
    const Bound from = most.value.negative ? turned(most) : above_zero;
    for (const std::string& part : magnitudes_within(from, turned(least), places)) {
      parts.push_back("\\-" + part);
    }
  }
  if (!most.value.negative) {
    for (std::string& part : magnitudes_within(least.value.negative ? zero : least, most, places)) {
      parts.push_back(std::move(part));
    }
  }
  return parts.empty() ? std::nullopt : std::optional(any_of(parts));
}

Decimal nines(bool negative, size_t count) { return {negative, std::string(count, '9'), {}}; }

// The smallest integer that the lower bound allows.
Decimal first_integer(const Bound& bound) {
  Decimal value{bound.value.negative, bound.value.whole, {}};
  const bool is_integer = bound.value.fraction.empty();
  if (is_integer ? bound.kind == BoundKind::exclusive : !bound.value.negative) {
    if (value.negative) {
      value.whole = minus_one(value.whole);
      value.negative = value.whole != "0";
    } else {
      value.whole = plus_one(value.whole);
    }
  }
  value.negative = value.negative && value.whole != "0";
  return value;
}

}  // namespace

bool operator<(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) {
    return a.negative;
  }
  const Decimal &small = a.negative ? b : a, &large = a.negative ? a : b;
  return small.whole != large.whole ? is_less(small.whole, large.whole) : small.fraction < large.fraction;
}

std::optional<Decimal> decimal_of(const Json& number) {
  // Its digits, the shortest that give the same double, and a power of ten.
  std::string text = number.is_number_float() ? fmt::format("{}", number.get<double>()) : number.dump();
  Decimal value{.negative = text[0] == '-'};
  text.erase(0, value.negative ? 1 : 0);
  int64_t exponent = 0;
  if (const size_t e = text.find('e'); e != std::string::npos) {
    exponent = std::strtol(text.c_str() + e + 1, nullptr, 10);
    text.resize(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  value.whole = text.substr(0, point);
  value.fraction = text.substr(std::min(point + 1, text.size()));
  constexpr int64_t kMostShift = 100;
  if (exponent > kMostShift || exponent < -kMostShift) {
    return std::nullopt;
  }
  for (; exponent > 0; --exponent) {
    value.whole += value.fraction.empty() ? '0' : value.fraction[0];
    value.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    value.fraction.insert(0, 1, value.whole.empty() ? '0' : value.whole.back());
    value.whole.resize(value.whole.empty() ? 0 : value.whole.size() - 1);
  }
  value.whole.erase(0, value.whole.find_first_not_of('0'));
  value.whole = value.whole.empty() ? "0" : value.whole;
  value.fraction.resize(value.fraction.find_last_not_of('0') + 1);
  value.negative = value.negative && !value.is_zero();
  return value;
}

std::optional<std::string> integers_within(const NumberBounds& bounds) {
  Decimal least = bounds.least ? first_integer(*bounds.least) : nines(true, kMostDigits);
  Decimal most = bounds.most ? turned({first_integer(turned(*bounds.most))}).value : nines(false, kMostDigits);
  least = std::max(least, nines(true, kMostDigits));
  most = std::min(most, nines(false, kMostDigits));
  return most < least ? std::nullopt : with_signs({least}, {most}, 0);
}

std::optional<std::string> numbers_within(const NumberBounds& bounds) {
  // Where a bound is missing, something is left beyond the other one.
  const bool is_open = !bounds.least || !bounds.most;
  size_t whole = is_open ? kOpenDigits : 1, fraction = 0;
  for (const std::optional<Bound>& bound : {bounds.least, bounds.most}) {
    whole = std::max(whole, bound ? bound->value.whole.size() + (is_open ? 1 : 0) : 0);
    fraction = std::max(fraction, bound ? bound->value.fraction.size() : 0);
  }
  if (whole + fraction > kMostDigits) {
    return std::nullopt;
  }
  const Bound least = bounds.least.value_or(Bound{nines(true, whole)});
  const Bound most = bounds.most.value_or(Bound{nines(false, whole)});
  if (most.value < least.value) {
    return std::nullopt;
  }
  return with_signs(least, most, kMostDigits - whole);
}

}  // namespace heed::json_schema
