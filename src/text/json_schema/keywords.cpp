#include "text/json_schema/keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed::json_schema {
namespace {

// Keywords about values of these types; kAnyType: about all values; 0: they only describe.
const std::map<std::string_view, Types>& keywords() {
  static const std::map<std::string_view, Types> kTable{{"$schema", 0},
                                                        {"$comment", 0},
                                                        {"$defs", 0},
                                                        {"definitions", 0},
                                                        {"title", 0},
                                                        {"description", 0},
                                                        {"default", 0},
                                                        {"examples", 0},
                                                        {"deprecated", 0},
                                                        {"readOnly", 0},
                                                        {"writeOnly", 0},
                                                        {"discriminator", 0},
                                                        {"$ref", kAnyType},
                                                        {"type", kAnyType},
                                                        {"enum", kAnyType},
                                                        {"const", kAnyType},
                                                        {"anyOf", kAnyType},
                                                        {"oneOf", kAnyType},
                                                        {"allOf", kAnyType},
                                                        {"properties", kObject},
                                                        {"required", kObject},
                                                        {"additionalProperties", kObject},
                                                        {"minProperties", kObject},
                                                        {"maxProperties", kObject},
                                                        {"items", kArray},
                                                        {"prefixItems", kArray},
                                                        {"minItems", kArray},
                                                        {"maxItems", kArray},
                                                        {"uniqueItems", kArray},
                                                        {"minLength", kString},
                                                        {"maxLength", kString},
                                                        {"pattern", kString},
                                                        {"format", kString},
                                                        {"minimum", kNumber},
                                                        {"maximum", kNumber},
                                                        {"exclusiveMinimum", kNumber},
                                                        {"exclusiveMaximum", kNumber}};
  return kTable;
}

constexpr std::array<std::pair<std::string_view, Types>, 7> kTypeNames{{{"null", kNull},
                                                                        {"boolean", kBoolean},
                                                                        {"integer", kInteger},
                                                                        {"number", kNumber},
                                                                        {"string", kString},
                                                                        {"array", kArray},
                                                                        {"object", kObject}}};

Types type_named(const Json& name, std::string_view path) {
  const auto found = std::ranges::find_if(kTypeNames, [&](const auto& entry) { return name == entry.first; });
  require<ConfigError>(found != kTypeNames.end(), path,
                       "type is {}, expected null, boolean, integer, number, string, array, object or a list of these",
                       shown(name.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return found->second;
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

Json list_of_both(const Json& a, const Json& b) {
  Json both = a;
  for (const Json& value : b) {
    if (std::ranges::find(a, value) == a.end()) {
      both.push_back(value);
    }
  }
  return both;
}

Json list_in_both(const Json& a, const Json& b) {
  Json both = Json::array();
  std::ranges::copy_if(a, std::back_inserter(both),
                       [&](const Json& value) { return std::ranges::find(b, value) != b.end(); });
  return both;
}

Json type_names(Types types) {
  Json names = Json::array();
  for (const auto& [name, type] : kTypeNames) {
    if (type == kNumber ? (types & kNumber) == kNumber
                        : (types & type) == type && (type != kInteger || (types & kFraction) == 0)) {
      names.push_back(name);
    }
  }
  return names;
}

Json all_of(const Json& a, const Json& b) { return Json{{"allOf", Json::array({a, b})}}; }

bool has(const Json& schema, const char* key) { return schema.is_object() && schema.contains(key); }

// What one of them says about properties that only the other one names.
void limit_additional(Json& merged, const Json& own, const Json& other) {
  if (!has(own, "additionalProperties") || own["additionalProperties"] == true || !has(other, "properties")) {
    return;
  }
  for (const auto& [name, schema] : other["properties"].items()) {
    if (has(own, "properties") && own["properties"].contains(name)) {
      continue;
    }
    const Json& additional = own["additionalProperties"];
    merged["properties"][name] = additional == false ? Json(false) : all_of(additional, schema);
  }
}

std::optional<Json> merged_value(const std::string& key, const Json& a, const Json& b, std::string_view path) {
  if (a == b) {
    return a;
  }
  if (key == "type") {
    const Json names = type_names(static_cast<Types>(types_of({{"type", a}}, path) & types_of({{"type", b}}, path)));
    return names;
  }
  if (key == "properties" && a.is_object() && b.is_object()) {
    Json both = a;
    for (const auto& [name, schema] : b.items()) {
      both[name] = a.contains(name) ? all_of(a[name], schema) : schema;
    }
    return both;
  }
  if (key == "required" && a.is_array() && b.is_array()) {
    return list_of_both(a, b);
  }
  if (key == "enum" && a.is_array() && b.is_array()) {
    return list_in_both(a, b);
  }
  if (key == "items") {
    return all_of(a, b);
  }
  if (key == "additionalProperties") {
    return a == false || b == false ? Json(false) : a == true ? b : b == true ? a : all_of(a, b);
  }
  if (a.is_number() && b.is_number()) {
    if (is_one_of(key, {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})) {
      return a < b ? b : a;
    }
    if (is_one_of(key, {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})) {
      return a < b ? a : b;
    }
  }
  return std::nullopt;
}

// The values of enum or const, or null.
Json constants_of(const Json& schema) {
  return has(schema, "const") ? Json::array({schema["const"]}) : has(schema, "enum") ? schema["enum"] : Json();
}

bool requires_name(const Json& schema, const std::string& name) {
  return has(schema, "required") && schema["required"].is_array() &&
         std::ranges::find(schema["required"], Json(name)) != schema["required"].end();
}

// Whether one of them requires a property that the other one forbids.
bool forbids_required(const Json& own, const Json& other) {
  if (!has(own, "additionalProperties") || own["additionalProperties"] != false || !has(other, "required") ||
      !other["required"].is_array()) {
    return false;
  }
  return std::ranges::any_of(other["required"], [&](const Json& name) {
    return name.is_string() && !(has(own, "properties") && own["properties"].contains(name.get<std::string>()));
  });
}

}  // namespace

void require_known_keywords(const Json& schema, std::string_view path) {
  for (const auto& [key, value] : schema.items()) {
    require<ConfigError>(keywords().contains(key), path, "the keyword '{}' is not supported", shown(key));
  }
  require<ConfigError>(!schema.contains("properties") || schema["properties"].is_object(), path,
                       "properties is not an object");
}

Types types_of(const Json& schema, std::string_view path) {
  Types types = 0;
  if (has(schema, "type")) {
    const Json& names = schema["type"];
    if (!names.is_array()) {
      return type_named(names, path);
    }
    for (const Json& name : names) {
      types |= type_named(name, path);
    }
    return types;
  }
  for (const auto& [key, value] : schema.items()) {
    const Types about = keywords().at(key);
    types |= about == kAnyType ? 0 : about;
  }
  return types == 0 ? kAnyType : types;
}

Types type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return kNull;
    case Json::value_t::boolean:
      return kBoolean;
    case Json::value_t::string:
      return kString;
    case Json::value_t::array:
      return kArray;
    case Json::value_t::object:
      return kObject;
    case Json::value_t::number_float: {
      const auto number = value.get<double>();
      return number == std::floor(number) ? kInteger : kFraction;
    }
    default:
      return kInteger;
  }
}

void require_keywords_of(Types types, const Json& schema, std::string_view path) {
  for (const auto& [key, value] : schema.items()) {
    const Types about = keywords().at(key);
    require<ConfigError>(about == 0 || (about & types) != 0, path, "the keyword '{}' says nothing about {}", key,
                         shown(type_names(types).dump()));
  }
}

bool constrains(const Json& schema) {
  if (!schema.is_object()) {
    return schema != true;
  }
  return std::ranges::any_of(schema.items(), [](const auto& item) {
    const auto found = keywords().find(item.key());
    return found == keywords().end() || found->second != 0;
  });
}

const Json& list_of(const Json& schema, const char* key, std::string_view path) {
  const Json& list = schema[key];
  require<ConfigError>(list.is_array() && !list.empty(), path, "{} is not a list of at least one element", key);
  return list;
}

Json merge(const Json& a, const Json& b, std::string_view path) {
  if (a == false || b == false) {
    return false;
  }
  if (!constrains(a) || !constrains(b)) {
    return constrains(a) ? a : b;
  }
  Json merged = Json::object();
  for (const Json* schema : {&a, &b}) {
    for (const auto& [key, value] : schema->items()) {
      const auto known = keywords().find(key);
      if (known != keywords().end() && known->second == 0) {
        continue;
      }
      if (!merged.contains(key)) {
        merged[key] = value;
        continue;
      }
      const std::optional<Json> both = merged_value(key, merged[key], value, path);
      require<ConfigError>(both.has_value(), path, "two values of '{}' can't be put together", shown(key));
      merged[key] = *both;
    }
  }
  limit_additional(merged, a, b);
  limit_additional(merged, b, a);
  return merged;
}

bool are_surely_disjoint(const Json& a, const Json& b, std::string_view path) {
  if (!a.is_object() || !b.is_object()) {
    return a == false || b == false;
  }
  require_known_keywords(a, path);
  require_known_keywords(b, path);
  const Json of_a = constants_of(a), of_b = constants_of(b);
  if (of_a.is_array() && of_b.is_array()) {
    return list_in_both(of_a, of_b).empty();
  }
  Types types = kAnyType;
  for (const Json* schema : {&a, &b}) {
    const Json constants = constants_of(*schema);
    Types of_schema = has(*schema, "type") ? types_of(*schema, path) : kAnyType;
    if (constants.is_array()) {
      Types of_constants = 0;
      for (const Json& value : constants) {
        of_constants |= type_of(value);
      }
      of_schema &= of_constants;
    }
    types &= of_schema;
  }
  if (types == 0) {
    return true;
  }
  if (types != kObject) {
    return false;
  }
  if (forbids_required(a, b) || forbids_required(b, a)) {
    return true;
  }
  if (!has(a, "properties") || !has(b, "properties") || !a["properties"].is_object() || !b["properties"].is_object()) {
    return false;
  }
  return std::ranges::any_of(a["properties"].items(), [&](const auto& property) {
    const std::string& name = property.key();
    if (!b["properties"].contains(name) || !(requires_name(a, name) || requires_name(b, name))) {
      return false;
    }
    const Json constants_a = constants_of(property.value()), constants_b = constants_of(b["properties"][name]);
    return constants_a.is_array() && constants_b.is_array() && list_in_both(constants_a, constants_b).empty() &&
           requires_name(a, name) && requires_name(b, name);
  });
}

}  // namespace heed::json_schema
