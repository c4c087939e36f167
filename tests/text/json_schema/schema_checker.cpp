#include "text/json_schema/schema_checker.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>

namespace heed::testing_json {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") {
    return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
  }
  return type == "null"      ? value.is_null()
         : type == "boolean" ? value.is_boolean()
         : type == "number"  ? value.is_number()
         : type == "string"  ? value.is_string()
         : type == "array"   ? value.is_array()
                             : type == "object" && value.is_object();
}

bool number_keeps(const Json& value, const Json& schema) {
  const auto number = value.get<double>();
  return number >= schema.value("minimum", -HUGE_VAL) && number <= schema.value("maximum", HUGE_VAL) &&
         number > schema.value("exclusiveMinimum", -HUGE_VAL) && number < schema.value("exclusiveMaximum", HUGE_VAL);
}

bool is_day(int year, int month, int day) {
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const int days[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

bool has_format(const std::string& text, const std::string& format) {
  static const std::regex time(R"((\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-](\d\d):(\d\d)))"),
      uuid(R"([\da-fA-F]{8}-[\da-fA-F]{4}-[\da-fA-F]{4}-[\da-fA-F]{4}-[\da-fA-F]{12})");
  if (format == "date") {
    return text.size() == 10 && is_day(std::stoi(text), std::stoi(text.substr(5)), std::stoi(text.substr(8)));
  }
  if (format == "time") {
    std::smatch found;
    return std::regex_match(text, found, time) && std::stoi(found[1]) < 24 && std::stoi(found[2]) < 60 &&
           std::stoi(found[3]) < 60 && (!found[6].matched || (std::stoi(found[6]) < 24 && std::stoi(found[7]) < 60));
  }
  if (format == "date-time") {
    return text.size() > 11 && text[10] == 'T' && has_format(text.substr(0, 10), "date") &&
           has_format(text.substr(11), "time");
  }
  if (format == "ipv4") {
    static const std::regex four(R"((\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3}))");
    std::smatch found;
    return std::regex_match(text, found, four) && std::all_of(found.begin() + 1, found.end(), [](const auto& part) {
             return std::stoi(part) < 256 && std::to_string(std::stoi(part)) == part;
           });
  }
  if (format == "email") {
    const size_t at = text.find('@');
    return at != std::string::npos && at > 0 && at <= 64 && text.find('@', at + 1) == std::string::npos &&
           text.find("..") == std::string::npos && text[at - 1] != '.' && text.front() != '.' && text.size() <= 254;
  }
  return format == "uuid" && std::regex_match(text, uuid);
}

bool string_keeps(const std::string& text, const Json& schema) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return characters >= schema.value("minLength", 0) && characters <= schema.value("maxLength", 1'000'000) &&
         (!schema.contains("pattern") || std::regex_search(text, std::regex(schema["pattern"].get<std::string>()))) &&
         (!schema.contains("format") || has_format(text, schema["format"]));
}

bool array_keeps(const Json& value, const Json& schema, const Json& root) {
  const Json first = schema.value("prefixItems", Json::array()), other = schema.value("items", Json(true));
  for (size_t i = 0; i < value.size(); ++i) {
    if (!is_valid(value[i], i < first.size() ? first[i] : other, root)) {
      return false;
    }
  }
  return value.size() >= schema.value("minItems", size_t{0}) &&
         value.size() <= schema.value("maxItems", size_t{1} << 40);
}

bool object_keeps(const Json& value, const Json& schema, const Json& root) {
  const Json named = schema.value("properties", Json::object()),
             other = schema.value("additionalProperties", Json(true));
  for (const auto& [name, member] : value.items()) {
    if (!is_valid(member, named.contains(name) ? named[name] : other, root)) {
      return false;
    }
  }
  const Json required = schema.value("required", Json::array());
  return std::all_of(required.begin(), required.end(),
                     [&](const Json& name) { return value.contains(name.get<std::string>()); }) &&
         value.size() >= schema.value("minProperties", size_t{0}) &&
         value.size() <= schema.value("maxProperties", size_t{1} << 40);
}

bool type_keeps(const Json& value, const Json& schema) {
  if (!schema.contains("type")) {
    return true;
  }
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  return std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type); });
}

int64_t valid_branches(const Json& value, const Json& branches, const Json& root) {
  return std::count_if(branches.begin(), branches.end(),
                       [&](const Json& branch) { return is_valid(value, branch, root); });
}

}  // namespace

bool is_valid(const Json& value, const Json& schema, const Json& root) {
  if (schema.is_boolean()) {
    return schema.get<bool>();
  }
  const auto branches = [&](const char* key) { return valid_branches(value, schema[key], root); };
  return type_keeps(value, schema) && (!value.is_number() || number_keeps(value, schema)) &&
         (!value.is_string() || string_keeps(value, schema)) &&
         (!value.is_array() || array_keeps(value, schema, root)) &&
         (!value.is_object() || object_keeps(value, schema, root)) &&
         (!schema.contains("const") || value == schema["const"]) &&
         (!schema.contains("enum") ||
          std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end()) &&
         (!schema.contains("anyOf") || branches("anyOf") > 0) &&
         (!schema.contains("oneOf") || branches("oneOf") == 1) &&
         (!schema.contains("allOf") || branches("allOf") == static_cast<int64_t>(schema["allOf"].size())) &&
         (!schema.contains("$ref") ||
          is_valid(value, root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root));
}

}  // namespace heed::testing_json
