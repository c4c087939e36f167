// Reading JSON from files that are not trusted: errors name the file and the key.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/json_tree.h"

namespace heed::huggingface {

using Json = nlohmann::json;

// FormatError names `where` unless the text is one JSON value.
JsonTree<Json> parse_json(std::string_view text, std::string_view where);

// A value and where it stands: "tokenizer.json: model.vocab".
class JsonValue {
 public:
  JsonValue(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const Json& json() const { return *value_; }
  const std::string& where() const { return where_; }
  bool is_null() const { return value_->is_null(); }

  // The member of an object; FormatError when this is none, or has no such member.
  JsonValue at(const char* key) const;
  // The member, or nullopt when it is absent or null.
  std::optional<JsonValue> find(const char* key) const;
  // The elements of a list.
  size_t size() const;
  JsonValue operator[](size_t index) const;

  std::string text() const;
  bool boolean() const;
  int64_t integer(int64_t least, int64_t most) const;
  // One character.
  char32_t character() const;

  std::string text_or(const char* key, std::string_view fallback) const;
  bool boolean_or(const char* key, bool fallback) const;

  [[noreturn]] void refuse(std::string_view problem) const;

 private:
  void require_type(bool good, std::string_view expected) const;

  const Json* value_;
  std::string where_;
};

}  // namespace heed::huggingface
