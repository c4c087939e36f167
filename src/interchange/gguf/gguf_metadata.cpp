#include "interchange/gguf/gguf_metadata.h"

#include <array>
#include <concepts>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using Kind = GgufValueType;

struct ValueTypeRow {
  std::string_view singular, plural;
  uint64_t bytes;  // 0: not fixed
};

// Indexed by the type's number.
constexpr std::array<ValueTypeRow, 13> kValueTypes{{{"an integer", "integers", 1},
                                                    {"an integer", "integers", 1},
                                                    {"an integer", "integers", 2},
                                                    {"an integer", "integers", 2},
                                                    {"an integer", "integers", 4},
                                                    {"an integer", "integers", 4},
                                                    {"a floating number", "floating numbers", 4},
                                                    {"a boolean", "booleans", 1},
                                                    {"a text", "texts", 0},
                                                    {"a list", "lists", 0},
                                                    {"an integer", "integers", 8},
                                                    {"an integer", "integers", 8},
                                                    {"a floating number", "floating numbers", 8}}};

constexpr uint64_t kLeastPairBytes = 8 + 4 + 1;  // the length of a key, a type and the smallest value
constexpr uint64_t kMaxKeyBytes = 65535;

const ValueTypeRow& row_of_value(GgufValueType type) { return kValueTypes[static_cast<size_t>(type)]; }

GgufValueType read_value_type(ByteReader& file, const std::string& key) {
  const auto number = file.number<uint32_t>("a value's type");
  require<FormatError>(number < kValueTypes.size(), file.where(), "'{}' is of type {}, which is unknown", shown(key),
                       number);
  return static_cast<GgufValueType>(number);
}

std::string_view next_text(ByteReader& file, std::string_view what) {
  return file.text(file.number<uint64_t>(what), what);
}

GgufStoredValue read_value(ByteReader& file, const std::string& key) {
  GgufStoredValue value{.type = read_value_type(file, key), .count = {}};
  if (value.type == Kind::array) {
    value.type = read_value_type(file, key);
    require<FormatError>(value.type != Kind::array, file.where(), "'{}' is a list of lists", shown(key));
    value.count = file.number<uint64_t>("a list's length");
  }
  const uint64_t count = value.count.value_or(1), each = row_of_value(value.type).bytes;
  if (each > 0) {
    file.require_room(count, each, fmt::format("values in '{}'", shown(key)));
    value.bytes = file.take(count * each, "a value");
    return value;
  }
  file.require_room(count, sizeof(uint64_t), fmt::format("texts in '{}'", shown(key)));
  ByteReader ahead = file;
  for (uint64_t i = 0; i < count; ++i) {
    next_text(ahead, "a text");
  }
  value.bytes = file.take(ahead.at() - file.at(), "texts");
  return value;
}

template <class T>
T number_at(ByteReader& from) {
  return from.number<T>("a value");
}

// Whether values of the file's type are what a getter of T takes.
template <class T>
bool is_taken(GgufValueType type) {
  if constexpr (std::same_as<T, bool>) {
    return type == Kind::boolean;
  } else if constexpr (std::same_as<T, std::string>) {
    return type == Kind::text;
  } else if constexpr (std::integral<T>) {
    return type <= Kind::i32 || type == Kind::u64 || type == Kind::i64;
  } else {
    return type == Kind::f32 || type == Kind::f64;
  }
}

// An integer beyond 63 bits becomes nothing.
std::optional<int64_t> integer_at(ByteReader& from, GgufValueType type) {
  switch (type) {
    case Kind::u8:
      return number_at<uint8_t>(from);
    case Kind::i8:
      return number_at<int8_t>(from);
    case Kind::u16:
      return number_at<uint16_t>(from);
    case Kind::i16:
      return number_at<int16_t>(from);
    case Kind::u32:
      return number_at<uint32_t>(from);
    case Kind::i32:
      return number_at<int32_t>(from);
    case Kind::u64: {
      const auto value = number_at<uint64_t>(from);
      return value > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(value));
    }
    default:
      return number_at<int64_t>(from);
  }
}

template <class T>
T value_at(ByteReader& from, GgufValueType type, std::string_view key) {
  if constexpr (std::same_as<T, bool>) {
    return number_at<uint8_t>(from) != 0;
  } else if constexpr (std::same_as<T, std::string>) {
    return std::string(next_text(from, "a text"));
  } else if constexpr (std::integral<T>) {
    const auto value = integer_at(from, type);
    require<FormatError>(value.has_value(), from.where(), "'{}' is beyond 63 bits", key);
    return *value;
  } else {
    return type == Kind::f32 ? static_cast<T>(number_at<float>(from)) : static_cast<T>(number_at<double>(from));
  }
}

std::string shown_kind(const GgufStoredValue& value) {
  return value.count ? fmt::format("{} {}", *value.count, row_of_value(value.type).plural)
                     : std::string(row_of_value(value.type).singular);
}

}  // namespace

GgufMetadata::GgufMetadata(ByteReader& file, uint64_t count) : where_(file.where()) {
  file.require_room(count, kLeastPairBytes, "pairs of metadata");
  for (uint64_t i = 0; i < count; ++i) {
    const auto length = file.number<uint64_t>("a key's length");
    require<FormatError>(length <= kMaxKeyBytes, where_, "a key of {} bytes, expected up to {}", length, kMaxKeyBytes);
    std::string key(file.text(length, "a key"));
    require<FormatError>(!find_invalid_utf8(key), where_, "key {} is not UTF-8", i);
    const GgufStoredValue value = read_value(file, key);
    require<FormatError>(values_.emplace(key, value).second, where_, "the key '{}' occurs twice", shown(key));
    keys_.push_back(std::move(key));
  }
}

bool GgufMetadata::is_list(std::string_view key) const {
  const auto it = values_.find(key);
  return it != values_.end() && it->second.count.has_value();
}

std::string GgufMetadata::shown_value(std::string_view key) const {
  const GgufStoredValue& value = values_.find(key)->second;
  if (value.count) {
    return shown_kind(value);
  }
  ByteReader from(value.bytes, where_);
  if (value.type == Kind::text) {
    return fmt::format("'{}'", shown(next_text(from, "a text")));
  }
  if (value.type == Kind::boolean) {
    return number_at<uint8_t>(from) != 0 ? "true" : "false";
  }
  if (is_taken<double>(value.type)) {
    return value.type == Kind::f32 ? fmt::format("{}", number_at<float>(from))
                                   : fmt::format("{}", number_at<double>(from));
  }
  return fmt::format("{}", integer_at(from, value.type).value_or(INT64_MAX));
}

template <class T>
std::optional<T> GgufMetadata::find_one(std::string_view key, std::string_view expected) const {
  const auto it = values_.find(key);
  if (it == values_.end()) {
    return std::nullopt;
  }
  const GgufStoredValue& value = it->second;
  require<FormatError>(!value.count && is_taken<T>(value.type), where_, "'{}' is {}, expected {}", key,
                       shown_kind(value), expected);
  ByteReader from(value.bytes, where_);
  return value_at<T>(from, value.type, key);
}

template <class T>
std::optional<std::vector<T>> GgufMetadata::find_list(std::string_view key, std::string_view expected) const {
  const auto it = values_.find(key);
  if (it == values_.end()) {
    return std::nullopt;
  }
  const GgufStoredValue& value = it->second;
  require<FormatError>(value.count && is_taken<T>(value.type), where_, "'{}' is {}, expected {}", key,
                       shown_kind(value), expected);
  std::vector<T> values;
  values.reserve(*value.count);
  ByteReader from(value.bytes, where_);
  for (uint64_t i = 0; i < *value.count; ++i) {
    values.push_back(value_at<T>(from, value.type, key));
  }
  return values;
}

std::optional<int64_t> GgufMetadata::find_integer(std::string_view key) const {
  return find_one<int64_t>(key, "an integer");
}
std::optional<double> GgufMetadata::find_real(std::string_view key) const {
  return find_one<double>(key, "a floating number");
}
std::optional<bool> GgufMetadata::find_boolean(std::string_view key) const { return find_one<bool>(key, "a boolean"); }
std::optional<std::string> GgufMetadata::find_text(std::string_view key) const {
  return find_one<std::string>(key, "a text");
}
std::optional<std::vector<int64_t>> GgufMetadata::find_integers(std::string_view key) const {
  return find_list<int64_t>(key, "a list of integers");
}
std::optional<std::vector<float>> GgufMetadata::find_reals(std::string_view key) const {
  return find_list<float>(key, "a list of floating numbers");
}
std::optional<std::vector<bool>> GgufMetadata::find_booleans(std::string_view key) const {
  return find_list<bool>(key, "a list of booleans");
}
std::optional<std::vector<std::string>> GgufMetadata::find_texts(std::string_view key) const {
  return find_list<std::string>(key, "a list of texts");
}

}  // namespace heed
