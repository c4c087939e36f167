// The settings that a GGUF file has before its tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/archive/byte_reader.h"

namespace heed {

// The numbers that a file has for types of values.
enum class GgufValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

// A value as it lies in the file, checked to be complete.
struct GgufStoredValue {
  GgufValueType type;                     // of an array: of its elements
  std::optional<uint64_t> count;          // of an array's elements
  std::span<const std::byte> bytes = {};  // texts after their lengths
};

// Values by key. They lie in the mapped file, so that lists of tokens cost nothing until they are asked for. A getter
// takes any width of integers or of floating numbers; FormatError, naming file and key, for another kind of value. The
// find_... give nothing where there is no such key, the others a FormatError.
class GgufMetadata {
 public:
  // Reads `count` pairs.
  GgufMetadata(ByteReader& file, uint64_t count);

  const std::string& where() const { return where_; }
  bool has(std::string_view key) const { return values_.contains(key); }
  bool is_list(std::string_view key) const;
  const std::vector<std::string>& keys() const { return keys_; }  // in the file's order
  std::string shown_value(std::string_view key) const;            // for people: "32", "'llama'", "32000 texts"

  std::optional<int64_t> find_integer(std::string_view key) const;
  std::optional<double> find_real(std::string_view key) const;
  std::optional<bool> find_boolean(std::string_view key) const;
  std::optional<std::string> find_text(std::string_view key) const;
  std::optional<std::vector<int64_t>> find_integers(std::string_view key) const;
  std::optional<std::vector<float>> find_reals(std::string_view key) const;
  std::optional<std::vector<bool>> find_booleans(std::string_view key) const;
  std::optional<std::vector<std::string>> find_texts(std::string_view key) const;

  int64_t integer(std::string_view key) const { return present(find_integer(key), key); }
  double real(std::string_view key) const { return present(find_real(key), key); }
  bool boolean(std::string_view key) const { return present(find_boolean(key), key); }
  std::string text(std::string_view key) const { return present(find_text(key), key); }
  std::vector<int64_t> integers(std::string_view key) const { return present(find_integers(key), key); }
  std::vector<float> reals(std::string_view key) const { return present(find_reals(key), key); }
  std::vector<std::string> texts(std::string_view key) const { return present(find_texts(key), key); }

 private:
  template <class T>
  T present(std::optional<T> value, std::string_view key) const {
    require<FormatError>(value.has_value(), where_, "there is no '{}'", key);
    return std::move(*value);
  }
  template <class T>
  std::optional<T> find_one(std::string_view key, std::string_view expected) const;
  template <class T>
  std::optional<std::vector<T>> find_list(std::string_view key, std::string_view expected) const;

  std::string where_;
  std::map<std::string, GgufStoredValue, std::less<>> values_;
  std::vector<std::string> keys_;
};

}  // namespace heed
