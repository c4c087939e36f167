// Values as bytes, for other processes of the same program: integers, texts, vectors of what can be sent, and structs
// that list their members:
//   struct Range {
//     int64_t begin = 0, end = 0;
//     static constexpr auto members() { return std::tuple(&Range::begin, &Range::end); }
//   };
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "heed/errors.h"

namespace heed {

template <class Value>
concept ListsMembers = requires {
  Value::members();
};

template <class Value>
void append_value(const Value& value, std::string& bytes) {
  if constexpr (std::integral<Value>) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  } else if constexpr (std::same_as<Value, std::string>) {
    append_value(value.size(), bytes);
    bytes += value;
  } else if constexpr (ListsMembers<Value>) {
    std::apply([&](auto... member) { (append_value(value.*member, bytes), ...); }, Value::members());
  } else {
    append_value(value.size(), bytes);
    for (const auto& item : value) {
      append_value(item, bytes);
    }
  }
}

inline std::string_view take_bytes(std::string_view& bytes, size_t count) {
  if (bytes.size() < count) {
    throw InternalError("message: ends within a value");
  }
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

// Removes the value from the beginning of the bytes.
template <class Value>
Value take_value(std::string_view& bytes) {
  Value value{};
  if constexpr (std::integral<Value>) {
    std::memcpy(&value, take_bytes(bytes, sizeof value).data(), sizeof value);
  } else if constexpr (std::same_as<Value, std::string>) {
    value = take_bytes(bytes, take_value<size_t>(bytes));
  } else if constexpr (ListsMembers<Value>) {
    const auto take_member = [&]<class Member>(Member Value::*member) { value.*member = take_value<Member>(bytes); };
    std::apply([&](auto... member) { (take_member(member), ...); }, Value::members());
  } else {
    for (auto left = take_value<size_t>(bytes); left > 0; --left) {
      value.push_back(take_value<typename Value::value_type>(bytes));
    }
  }
  return value;
}

template <class Value>
std::string message_of(const Value& value) {
  std::string bytes;
  append_value(value, bytes);
  return bytes;
}

template <class Value>
Value value_of_message(std::string_view bytes) {
  Value value = take_value<Value>(bytes);
  if (!bytes.empty()) {
    throw InternalError("message: has bytes after its value");
  }
  return value;
}

}  // namespace heed
