#include "text/huggingface/json.h"

#include "base/errors.h"
#include "base/text/json_depth.h"
#include "text/huggingface/characters/characters.h"

namespace heed::huggingface {

JsonTree<Json> parse_json(std::string_view text, std::string_view where) {
  require_shallow_json(text, where);
  return parse_json_tree<Json>(
      text, [&](const Json::exception& error) { fail<FormatError>(where, "not JSON: {}", error.what()); });
}

void JsonValue::refuse(std::string_view problem) const { fail<FormatError>(where_, "{}", problem); }

void JsonValue::require_type(bool good, std::string_view expected) const {
  require<FormatError>(good, where_, "expected {}, found {}", expected, value_->type_name());
}

JsonValue JsonValue::at(const char* key) const {
  require_type(value_->is_object(), "an object");
  const auto it = value_->find(key);
  require<FormatError>(it != value_->end(), where_, "the key '{}' is missing", key);
  return {*it, fmt::format("{}.{}", where_, key)};
}

std::optional<JsonValue> JsonValue::find(const char* key) const {
  require_type(value_->is_object(), "an object");
  const auto it = value_->find(key);
  if (it == value_->end() || it->is_null()) {
    return std::nullopt;
  }
  return JsonValue(*it, fmt::format("{}.{}", where_, key));
}

size_t JsonValue::size() const {
  require_type(value_->is_array(), "a list");
  return value_->size();
}

JsonValue JsonValue::operator[](size_t index) const {
  require<FormatError>(index < size(), where_, "expected at least {} elements, found {}", index + 1, size());
  return {(*value_)[index], fmt::format("{}[{}]", where_, index)};
}

std::string JsonValue::text() const {
  require_type(value_->is_string(), "a string");
  return value_->get<std::string>();
}

bool JsonValue::boolean() const {
  require_type(value_->is_boolean(), "true or false");
  return value_->get<bool>();
}

int64_t JsonValue::integer(int64_t least, int64_t most) const {
  require_type(value_->is_number_integer(), "a whole number");
  const bool large = value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = large ? INT64_MAX : value_->get<int64_t>();
  require<FormatError>(!large && least <= number && number <= most, where_, "expected {} to {}, found {}", least, most,
                       value_->dump());
  return number;
}

char32_t JsonValue::character() const {
  const std::string characters = text();
  require<FormatError>(count_characters(characters) == 1, where_, "expected one character, found '{}'", characters);
  return decode_character(characters.data()).value;
}

std::string JsonValue::text_or(const char* key, std::string_view fallback) const {
  const std::optional<JsonValue> value = find(key);
  return value ? value->text() : std::string(fallback);
}

bool JsonValue::boolean_or(const char* key, bool fallback) const {
  const std::optional<JsonValue> value = find(key);
  return value ? value->boolean() : fallback;
}

}  // namespace heed::huggingface
