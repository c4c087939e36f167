// The names that files and command lines give to an enum's values. Each enum has its own table, kFooNames.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace heed {

template <class Value>
using NamedValue = std::pair<std::string_view, Value>;

// The value's name in its table, which must contain the value.
template <class Value, size_t kCount>
constexpr std::string_view name_among(const std::array<NamedValue<Value>, kCount>& names, const Value& value) {
  size_t i = 0;
  while (i + 1 < kCount && !(names[i].second == value)) {
    ++i;
  }
  return names[i].first;
}

}  // namespace heed
