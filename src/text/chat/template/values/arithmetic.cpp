#include "text/chat/template/values/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace heed::chat {
namespace {

std::string_view sign_of(Operator operation) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSigns[static_cast<size_t>(operation)];
}

[[noreturn]] void refuse_size(const Run& run) { run.refuse("the result is too large for a whole number"); }

Value power_of(Run& run, int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) {
      run.refuse("0 has no negative power");
    }
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  if (base == 0 || base == 1 || exponent == 0) {
    return exponent == 0 ? int64_t{1} : base;
  }
  if (base == -1) {
    return exponent % 2 == 0 ? int64_t{1} : int64_t{-1};
  }
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {  // ends after 63 rounds
    if (__builtin_mul_overflow(result, base, &result)) {
      refuse_size(run);
    }
  }
  return result;
}

Value whole(Run& run, Operator operation, int64_t left, int64_t right) {
  int64_t result = 0;
  bool beyond = false;
  if (operation == Operator::add) {
    beyond = __builtin_add_overflow(left, right, &result);
  } else if (operation == Operator::subtract) {
    beyond = __builtin_sub_overflow(left, right, &result);
  } else if (operation == Operator::multiply) {
    beyond = __builtin_mul_overflow(left, right, &result);
  } else if (operation == Operator::power) {
    return power_of(run, left, right);
  } else if (right == 0) {
    run.refuse("a division by zero");
  } else if (operation == Operator::divide) {
    return static_cast<double>(left) / static_cast<double>(right);
  } else if (right == -1) {
    beyond = operation == Operator::divide_down && __builtin_sub_overflow(int64_t{0}, left, &result);
  } else {  // rounded down, so that the rest has the divisor's sign
    const int64_t rest = left % right;
    const bool down = rest != 0 && (rest < 0) != (right < 0);
    result = operation == Operator::modulo ? rest + (down ? right : 0) : left / right - (down ? 1 : 0);
  }
  if (beyond) {
    refuse_size(run);
  }
  return result;
}

Value real(Run& run, Operator operation, double left, double right) {
  if (operation == Operator::add) {
    return left + right;
  }
  if (operation == Operator::subtract) {
    return left - right;
  }
  if (operation == Operator::multiply) {
    return left * right;
  }
  if (operation == Operator::power) {
    if (left < 0.0 && right != std::floor(right)) {
      run.refuse("a negative number has no such power");
    }
    return std::pow(left, right);
  }
  if (right == 0.0) {
    run.refuse("a division by zero");
  }
  if (operation == Operator::divide) {
    return left / right;
  }
  double rest = std::fmod(left, right);
  if (rest != 0.0 && (rest < 0.0) != (right < 0.0)) {
    rest += right;
  }
  return operation == Operator::modulo ? rest : std::round((left - rest) / right);
}

// A text or list so many times.
Value repeated(Run& run, const Value& value, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(0, times));
  const size_t size = value.text() != nullptr ? value.text()->size() : value.list()->items.size() * sizeof(Value);
  if (size > 0 && count > kMaxMadeBytes / size) {
    run.refuse("the result is longer than {} bytes, the limit", kMaxMadeBytes);
  }
  run.make(size * count);
  if (const std::string* text = value.text()) {
    std::string all;
    all.reserve(size * count);
    for (size_t i = 0; i < (size > 0 ? count : 0); ++i) {
      all += *text;
    }
    return make_text(run, std::move(all));
  }
  std::vector<Value> items;
  for (size_t i = 0; i < (size > 0 ? count : 0); ++i) {
    items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  }
  return make_list(run, std::move(items), value.list()->kind);
}

bool is_plain_list(const Value& value) { return value.list() != nullptr && value.list()->kind <= ListKind::tuple; }

}  // namespace

Value calculate(Run& run, Operator operation, const Value& left, const Value& right) {
  const auto whole_left = integer_of(left), whole_right = integer_of(right);
  if (whole_left && whole_right) {
    return whole(run, operation, *whole_left, *whole_right);
  }
  const auto number_left = number_of(left), number_right = number_of(right);
  if (number_left && number_right) {
    return real(run, operation, *number_left, *number_right);
  }
  if (operation == Operator::add && left.text() != nullptr && right.text() != nullptr) {
    run.make(left.text()->size() + right.text()->size());
    return make_text(run, *left.text() + *right.text());
  }
  if (operation == Operator::add && is_plain_list(left) && is_plain_list(right) &&
      left.list()->kind == right.list()->kind) {
    run.make((left.list()->items.size() + right.list()->items.size()) * sizeof(Value));
    std::vector<Value> items = left.list()->items;
    items.insert(items.end(), right.list()->items.begin(), right.list()->items.end());
    return make_list(run, std::move(items), left.list()->kind);
  }
  if (operation == Operator::multiply && (left.text() != nullptr || is_plain_list(left)) && whole_right) {
    return repeated(run, left, *whole_right);
  }
  if (operation == Operator::multiply && (right.text() != nullptr || is_plain_list(right)) && whole_left) {
    return repeated(run, right, *whole_left);
  }
  run.refuse("{} {} {} has no meaning", type_name(left), sign_of(operation), type_name(right));
}

Value negative(Run& run, const Value& value) {
  if (const double* number = value.as<double>()) {
    return -*number;
  }
  if (!integer_of(value)) {
    run.refuse("a {} can't be negated", type_name(value));
  }
  return whole(run, Operator::subtract, 0, *integer_of(value));
}

}  // namespace heed::chat
