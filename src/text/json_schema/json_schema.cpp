// A schema becomes an expression from the inside out: each kind of value its own, alternatives joined by |.
#include "heed/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "text/json_schema/expressions.h"
#include "text/json_schema/keywords.h"
#include "text/json_schema/numbers.h"
#include "text/json_schema/strings.h"

namespace heed::json_schema {
namespace {

constexpr int kOpenNesting = 2;    // of values that a schema leaves open
constexpr int kObjectNesting = 3;  // of the values of a JSON object
constexpr size_t kLongestExpression = 500'000, kMostSchemas = 20'000, kMostBytes = 200'000'000, kMostMerged = 1000;
constexpr int kDeepestSchemas = 20;
constexpr size_t kMostOptionalItems = 10;
constexpr int64_t kLargestCount = 100'000;

// The key of an error: "schema.json: #/properties/age".
std::string inside(std::string_view path, std::string_view key) { return fmt::format("{}/{}", path, shown(key)); }

class SchemaExpressions {
 public:
  SchemaExpressions(const Json& root, std::string_view where)
      : root_(root), root_path_(fmt::format("{}: #", where)), bytes_(root.dump().size()) {}

  std::string whole() { return fmt::format(" ?{}", of(root_, root_path_)); }

 private:
  std::string of(const Json& schema, const std::string& path) {
    require<ConfigError>(++depth_ <= kDeepestSchemas, path, "schemas are nested deeper than {} levels",
                         kDeepestSchemas);
    const size_t active = active_.size();
    std::string expression = of_flat(flat(schema, path), path);
    active_.resize(active);
    --depth_;
    return limited(std::move(expression), path);
  }

  // Without $ref and allOf at its top. What they refer to counts as being written from now on.
  Json flat(const Json& schema, const std::string& path) {
    // What a schema may cost is limited by what might be copied.
    bytes_copied_ += bytes_;
    require<ConfigError>(++schemas_ <= kMostSchemas && bytes_copied_ <= kMostBytes, path, "the schema is too large");
    if (!schema.is_object()) {
      require<ConfigError>(schema.is_boolean(), path, "expected a schema: an object, true or false");
      return schema;
    }
    require_known_keywords(schema, path);
    if (!schema.contains("$ref") && !schema.contains("allOf")) {
      return schema;
    }
    require<ConfigError>(++flattening_ <= kDeepestSchemas, path, "$ref and allOf are nested deeper than {} levels",
                         kDeepestSchemas);
    Json all = true, own = schema;
    if (schema.contains("$ref")) {
      all = flat(referred(schema["$ref"], path), path);
      own.erase("$ref");
    }
    if (schema.contains("allOf")) {
      for (const Json& part : list_of(schema, "allOf", path)) {
        require<ConfigError>(++merged_ <= kMostMerged, path, "the schema is too large");
        all = merge(all, flat(part, inside(path, "allOf")), path);
      }
      own.erase("allOf");
    }
    --flattening_;
    all = merge(all, own, path);
    bytes_ = std::max(bytes_, all.dump(-1, ' ', false, Json::error_handler_t::replace).size());
    return all;
  }

  const Json& referred(const Json& reference, const std::string& path) {
    require<ConfigError>(reference.is_string(), path, "$ref is not a string");
    const auto& name = reference.get_ref<const std::string&>();
    require<ConfigError>(name == "#" || name.starts_with("#/"), path,
                         "$ref '{}' is not supported: expected one within the schema, '#/$defs/...'", shown(name));
    require<ConfigError>(std::ranges::find(active_, name) == active_.end(), path,
                         "$ref '{}' is part of what it refers to: recursive schemas are not supported", shown(name));
    active_.push_back(name);
    try {
      return root_.at(Json::json_pointer(name.substr(1)));
    } catch (const Json::exception&) {
      fail<ConfigError>(path, "$ref '{}' refers to nothing", shown(name));
    }
  }

  std::string of_flat(const Json& schema, const std::string& path) {
    if (schema.is_boolean()) {
      require<ConfigError>(schema == true, path, "this schema allows no value");
      return any_value(kOpenNesting);
    }
    for (const char* const key : {"anyOf", "oneOf"}) {
      if (schema.contains(key)) {
        return of_branches(schema, key, path);
      }
    }
    if (schema.contains("enum") || schema.contains("const")) {
      return of_constants(schema, path);
    }
    const Types types = types_of(schema, path);
    if (!constrains(schema)) {
      return any_value(kOpenNesting);
    }
    require<ConfigError>(types != 0, path, "this schema allows no type");
    require_keywords_of(types, schema, path);
    require<ConfigError>(schema.contains("type") || types == kNumber || (types & (types - 1)) == 0, path,
                         "keywords about several types need a 'type'");
    return of_types(types, schema, path);
  }

  std::string of_types(Types types, const Json& schema, const std::string& path) {
    std::vector<std::string> kinds;
    if ((types & kObject) != 0) {
      kinds.push_back(object(schema, path));
    }
    if ((types & kArray) != 0) {
      kinds.push_back(array(schema, path));
    }
    if ((types & kString) != 0) {
      kinds.push_back(string(schema, path));
    }
    if ((types & kNumber) != 0) {
      kinds.push_back(number(types, schema, path));
    }
    if ((types & kBoolean) != 0) {
      kinds.emplace_back("(?:true|false)");
    }
    if ((types & kNull) != 0) {
      kinds.emplace_back("null");
    }
    return any_of(kinds);
  }

  std::string of_branches(const Json& schema, const char* key, const std::string& path) {
    Json rest = schema;
    rest.erase(key);
    std::vector<Json> branches;
    const size_t active = active_.size();
    std::vector<std::string> kinds;
    for (const Json& branch : list_of(schema, key, path)) {
      const std::string branch_path = inside(path, fmt::format("{}/{}", key, branches.size()));
      branches.push_back(merge(rest, flat(branch, branch_path), branch_path));
      if (branches.back() != false) {
        kinds.push_back(of(branches.back(), branch_path));
      }
      active_.resize(active);
    }
    require<ConfigError>(!kinds.empty(), path, "this schema allows no value");
    for (size_t i = 0; i < branches.size() && key == std::string_view("oneOf"); ++i) {
      for (size_t j = i + 1; j < branches.size(); ++j) {
        require<ConfigError>(are_surely_disjoint(branches[i], branches[j], path), path,
                             "oneOf: a value may be valid against branches {} and {}; write anyOf, or give them a "
                             "required property with another constant in each",
                             i, j);
      }
    }
    return any_of(kinds);
  }

  std::string of_constants(const Json& schema, const std::string& path) {
    const Types types = schema.contains("type") ? types_of(schema, path) : kAnyType;
    std::vector<std::string> kinds;
    Json values = schema.contains("enum") ? list_of(schema, "enum", path) : Json::array({schema["const"]});
    for (const auto& [key, value] : schema.items()) {
      require<ConfigError>(key == "enum" || key == "const" || key == "type" || !constrains({{key, value}}), path,
                           "the keyword '{}' together with enum or const is not supported", key);
    }
    for (const Json& value : values) {
      const bool is_other = schema.contains("const") && value != schema["const"];
      const bool is_new = std::ranges::find(kinds, exact_value(value)) == kinds.end();
      if ((types & type_of(value)) != 0 && !is_other && is_new) {
        kinds.push_back(exact_value(value));
      }
    }
    require<ConfigError>(!kinds.empty(), path, "this schema allows no value");
    return any_of(kinds);
  }

  static int64_t count(const Json& schema, const char* key, int64_t missing, std::string_view path) {
    if (!schema.contains(key)) {
      return missing;
    }
    const Json& value = schema[key];
    const bool is_whole = value.is_number() && type_of(value) == kInteger;
    const double number = is_whole ? value.get<double>() : -1.0;
    require<ConfigError>(number >= 0.0 && number <= kLargestCount, path, "{} is {}, expected a number from 0 to {}",
                         key, shown(value.dump(-1, ' ', false, Json::error_handler_t::replace)), kLargestCount);
    return static_cast<int64_t>(number);
  }

  struct CountKeys {
    const char *least, *most;
  };

  static Counts counts(const Json& schema, const CountKeys& keys, std::string_view path) {
    Counts both{.least = count(schema, keys.least, 0, path)};
    if (schema.contains(keys.most)) {
      both.most = count(schema, keys.most, 0, path);
      require<ConfigError>(both.least <= *both.most, path, "{} is above {}", keys.least, keys.most);
    }
    return both;
  }

  static std::string string(const Json& schema, const std::string& path) {
    const Counts length = counts(schema, {"minLength", "maxLength"}, path);
    for (const char* const key : {"pattern", "format"}) {
      require<ConfigError>(!schema.contains(key) || schema[key].is_string(), path, "{} is not a string", key);
    }
    if (schema.contains("format")) {
      require<ConfigError>(!schema.contains("pattern"), path, "pattern together with format is not supported");
      const auto& format = schema["format"].get_ref<const std::string&>();
      const auto expression = string_of_format(format, length, path);
      require<ConfigError>(expression.has_value(), path,
                           "format '{}' is not supported: expected date, time, date-time, uuid, email or ipv4",
                           shown(format));
      return *expression;
    }
    return schema.contains("pattern") ? string_of_pattern(schema["pattern"].get_ref<const std::string&>(), length, path)
                                      : any_string(length);
  }

  struct BoundKey {
    const char* key;
    BoundKind kind;
  };

  // The stricter of the bounds on one side: of lower bounds the larger, of upper ones the smaller.
  template <class IsStricter>
  static std::optional<Bound> bound(const Json& schema, std::initializer_list<BoundKey> keys, std::string_view path,
                                    const IsStricter& is_stricter) {
    std::optional<Bound> strictest;
    for (const auto& [key, kind] : keys) {
      if (!schema.contains(key)) {
        continue;
      }
      require<ConfigError>(schema[key].is_number(), path, "{} is not a number", key);
      const std::optional<Decimal> value = decimal_of(schema[key]);
      require<ConfigError>(value.has_value(), path, "{} has too many digits", key);
      if (!strictest || !is_stricter(strictest->value, *value)) {
        strictest = Bound{*value, kind};  // an exclusive bound comes last, and wins where both are equal
      }
    }
    return strictest;
  }

  static std::string number(Types types, const Json& schema, const std::string& path) {
    const NumberBounds bounds{
        bound(schema, {{"minimum", BoundKind::inclusive}, {"exclusiveMinimum", BoundKind::exclusive}}, path,
              [](const Decimal& a, const Decimal& b) { return b < a; }),
        bound(schema, {{"maximum", BoundKind::inclusive}, {"exclusiveMaximum", BoundKind::exclusive}}, path,
              [](const Decimal& a, const Decimal& b) { return a < b; })};
    if ((types & kFraction) == 0) {
      const auto expression = integers_within(bounds);
      require<ConfigError>(expression.has_value(), path, "no integer of at most 15 digits is within the bounds");
      return *expression;
    }
    if (!bounds.least && !bounds.most) {
      return any_number();
    }
    const auto expression = numbers_within(bounds);
    require<ConfigError>(expression.has_value(), path,
                         "no number is within minimum and maximum, or they have more than 15 digits");
    return *expression;
  }

  std::string array(const Json& schema, const std::string& path) {
    require<ConfigError>(!schema.contains("uniqueItems") || schema["uniqueItems"] == false, path,
                         "the keyword 'uniqueItems' is not supported");
    Counts items = counts(schema, {"minItems", "maxItems"}, path);
    std::vector<std::string> first;
    if (schema.contains("prefixItems")) {
      for (const Json& item : list_of(schema, "prefixItems", path)) {
        if (items.most && static_cast<int64_t>(first.size()) >= *items.most) {
          break;
        }
        first.push_back(of(item, inside(path, fmt::format("prefixItems/{}", first.size()))));
      }
    }
    const auto named = static_cast<int64_t>(first.size());
    const bool ends = schema.contains("items") && schema["items"] == false;
    if (ends) {
      items.most = std::min(items.most.value_or(named), named);
      require<ConfigError>(items.least <= *items.most, path, "minItems is above the number of items");
    }
    const Counts more{std::max<int64_t>(items.least - named, 0),
                      items.most ? std::optional(*items.most - named) : std::nullopt};
    const bool has_more = !more.most || *more.most > 0;
    const std::string other =
        has_more ? of(schema.contains("items") ? schema["items"] : Json(true), inside(path, "items")) : "";
    if (first.empty()) {
      return fmt::format("\\[{}\\]", separated(other, more));
    }
    require<ConfigError>(first.size() <= kMostOptionalItems + static_cast<size_t>(items.least), path,
                         "more than {} prefixItems may be absent: raise minItems", kMostOptionalItems);
    std::string all = has_more ? repeated(group(fmt::format("{}{}", kComma, other)), more) : "";
    for (size_t i = first.size(); i-- > 0;) {
      all = limited(fmt::format("{}{}{}", i > 0 ? kComma : "", first[i], all), path);
      if (static_cast<int64_t>(i) >= items.least) {
        all = group(all) + "?";
      }
    }
    return fmt::format("\\[{}\\]", all);
  }

  // A property as it is written, and whether it has to be.
  struct Member {
    std::string expression;
    bool is_required;
  };

  std::vector<Member> members(const Json& schema, const Json& additional, const std::string& path) {
    std::vector<std::pair<std::string, Json>> all;
    if (schema.contains("properties")) {
      for (const auto& [name, property] : schema["properties"].items()) {
        all.emplace_back(name, property);
      }
    }
    std::vector<std::string> required;
    if (schema.contains("required")) {
      require<ConfigError>(schema["required"].is_array(), path, "required is not a list");
      for (const Json& name : schema["required"]) {
        require<ConfigError>(name.is_string(), path, "required has an element that is not a string");
        required.push_back(name.get<std::string>());
        if (std::ranges::find(all, required.back(), [](const auto& one) { return one.first; }) == all.end()) {
          all.emplace_back(required.back(), additional);
        }
      }
    }
    std::vector<Member> members;
    for (const auto& [name, property] : all) {
      const bool is_required = std::ranges::find(required, name) != required.end();
      if (property == false && !is_required) {
        continue;
      }
      const std::string value = of(property, inside(path, fmt::format("properties/{}", name)));
      members.push_back({fmt::format("{}{}{}", exact_string(name), kColon, value), is_required});
    }
    return members;
  }

  std::string object(const Json& schema, const std::string& path) {
    const Json additional = schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(true);
    const Counts size = counts(schema, {"minProperties", "maxProperties"}, path);
    const bool is_map = !schema.contains("properties") || schema["properties"].empty();
    const std::vector<Member> named = members(schema, additional, path);
    if (is_map && named.empty()) {
      return map(additional, size, path);
    }
    const auto required = std::ranges::count_if(named, &Member::is_required);
    require<ConfigError>(size.least <= required, path,
                         "minProperties above the number of required properties is not supported");
    require<ConfigError>(!size.most || *size.most >= static_cast<int64_t>(named.size()), path,
                         "maxProperties below the number of properties is not supported");
    return fmt::format("\\{{{}\\}}", in_order(named, path));
  }

  // Any names, all with values of one schema.
  std::string map(const Json& additional, const Counts& size, const std::string& path) {
    if (additional == false) {
      require<ConfigError>(size.least == 0, path, "minProperties is above the number of properties");
      return "\\{\\}";
    }
    require<ConfigError>(size.least <= 1, path,
                         "minProperties above 1 is not supported for any names, which may be equal");
    const std::string value = of(additional, inside(path, "additionalProperties"));
    return limited(fmt::format("\\{{{}\\}}", separated(any_string({}) + std::string(kColon) + value, size)), path);
  }

  // Those before the first required one end with a comma, those after it begin with one. Without a required one, each
  // may be the first.
  static std::string in_order(const std::vector<Member>& members, const std::string& path) {
    const auto first = std::ranges::find_if(members, &Member::is_required);
    std::string all;
    const auto add_after = [&](auto from) {
      for (auto member = from; member != members.end(); ++member) {
        const std::string one = fmt::format("{}{}", kComma, member->expression);
        all += member->is_required ? one : group(one) + "?";
      }
    };
    if (first != members.end()) {
      for (auto member = members.begin(); member != first; ++member) {
        all += group(fmt::format("{}{}", member->expression, kComma)) + "?";
      }
      all += first->expression;
      add_after(first + 1);
      return all;
    }
    std::vector<std::string> kinds;
    size_t size = 0;
    for (auto member = members.begin(); member != members.end(); ++member) {
      all = member->expression;
      add_after(member + 1);
      size += all.size();
      require<ConfigError>(size <= kLongestExpression, path, "the schema is too large");
      kinds.push_back(all);
    }
    return kinds.empty() ? "" : group(any_of(kinds)) + "?";
  }

  static std::string limited(std::string expression, std::string_view path) {
    require<ConfigError>(expression.size() <= kLongestExpression, path,
                         "the schema is too large: its regular expression would have more than {} characters",
                         kLongestExpression);
    return expression;
  }

  const Json& root_;
  std::string root_path_;
  std::vector<std::string> active_;  // what is referred to around the schema that is being written
  int depth_ = 0, flattening_ = 0;
  size_t schemas_ = 0, merged_ = 0, bytes_ = 0, bytes_copied_ = 0;
};

}  // namespace
}  // namespace heed::json_schema

namespace heed {

std::string regex_of_json_schema(std::string_view schema, std::string_view where) {
  constexpr size_t kMostBytes = 1'000'000;
  require<ConfigError>(schema.size() <= kMostBytes, where, "it has more than {} bytes", kMostBytes);
  json_schema::Json root;
  try {
    require_shallow_json(schema, where);
    root = json_schema::Json::parse(schema);
  } catch (const FormatError& error) {
    throw ConfigError(error.what());
  } catch (const json_schema::Json::exception& error) {
    fail<ConfigError>(where, "not JSON: {}", shown(error.what()));
  }
  return json_schema::SchemaExpressions(root, where).whole();
}

std::string regex_of_json_object() {
  using namespace json_schema;
  const std::string member = any_string({}) + std::string(kColon) + any_value(kObjectNesting);
  return fmt::format(" ?\\{{{}\\}}", separated(member, {}));
}

}  // namespace heed
