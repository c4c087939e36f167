#include "heed/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <random>

#include "base/errors.h"
#include "text/json_schema/schema_checker.h"
#include "text/patterns/byte_automaton.h"

namespace heed {
namespace {

using testing::HasSubstr;
using testing_json::is_valid;
using testing_json::Json;

// Texts that an automaton accepts, drawn step by step; after some steps, by the shortest way to an end.
class DrawnTexts {
 public:
  explicit DrawnTexts(const ByteAutomaton& automaton)
      : automaton_(automaton), distances_(static_cast<size_t>(automaton.states()), -1) {
    std::vector<std::vector<ByteAutomaton::State>> sources(distances_.size());
    std::deque<ByteAutomaton::State> queue;
    for (ByteAutomaton::State state = 0; state < automaton.states(); ++state) {
      for (const auto& edge : automaton.edges(state)) {
        sources[static_cast<size_t>(edge.to)].push_back(state);
      }
      if (automaton.accepts(state)) {
        distances_[static_cast<size_t>(state)] = 0;
        queue.push_back(state);
      }
    }
    for (; !queue.empty(); queue.pop_front()) {
      for (const auto source : sources[static_cast<size_t>(queue.front())]) {
        if (distances_[static_cast<size_t>(source)] < 0) {
          distances_[static_cast<size_t>(source)] = distances_[static_cast<size_t>(queue.front())] + 1;
          queue.push_back(source);
        }
      }
    }
  }

  std::string draw(std::mt19937& random) const {
    std::string text;
    ByteAutomaton::State state = 0;
    const size_t free_steps = random() % 60;
    while (true) {
      const auto& edges = automaton_.edges(state);
      const bool ends = edges.empty() || text.size() >= free_steps || random() % 4 == 0;
      if (automaton_.accepts(state) && ends) {
        return text;
      }
      const ByteAutomaton::Edge* edge = &edges[random() % edges.size()];
      if (text.size() >= free_steps) {
        edge = &*std::min_element(edges.begin(), edges.end(), [&](const auto& a, const auto& b) {
          return distances_[static_cast<size_t>(a.to)] < distances_[static_cast<size_t>(b.to)];
        });
      }
      text += static_cast<char>(edge->first + random() % (edge->last - edge->first + 1U));
      state = edge->to;
    }
  }

 private:
  const ByteAutomaton& automaton_;
  std::vector<int> distances_;
};

void expect_valid_texts(const Json& schema, std::mt19937& random, int texts) {
  const ByteAutomaton automaton = automaton_of_regex(regex_of_json_schema(schema.dump()));
  ASSERT_FALSE(automaton.matches_nothing()) << schema;
  const DrawnTexts drawn(automaton);
  for (int i = 0; i < texts; ++i) {
    const std::string text = drawn.draw(random);
    const Json value = Json::parse(text, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << schema << "\n" << text;
    ASSERT_TRUE(is_valid(value, schema, schema)) << schema << "\n" << text;
  }
}

constexpr const char* kPerson = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Person", "type": "object",
  "$defs": {"address": {"type": "object", "additionalProperties": false, "required": ["city"], "properties": {
              "street": {"type": "string"}, "city": {"type": "string", "minLength": 1, "maxLength": 40},
              "zip": {"type": "string", "pattern": "^[0-9]{5}$"}}}},
  "properties": {
    "name": {"type": "string", "description": "as in the passport"},
    "age": {"type": "integer", "minimum": 0, "maximum": 130},
    "height": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 2.72},
    "born": {"type": "string", "format": "date"},
    "address": {"$ref": "#/$defs/address"},
    "tags": {"type": "array", "items": {"enum": ["new", "old", "\"odd\"", 7, null]}, "maxItems": 3},
    "contact": {"anyOf": [{"type": "string", "format": "email"}, {"type": "null"}]}},
  "required": ["name", "age"]})";

struct Documents {
  const char* schema;
  std::vector<const char*> good, bad;
};

const std::vector<Documents>& documents() {
  static const std::vector<Documents> all{
      {kPerson,
       {R"({"name":"Ada","age":36})", R"({"name": "Zoë \"Z\" O\\N", "age": 130, "height": 1.68})",
        R"({"name":"","age":0,"height":null,"born":"1996-02-29","address":{"city":"Łódź","zip":"12345"},"tags":[],"contact":"ada@example.org"})",
        R"({"name":"x","age":7,"tags":["new", "\"odd\"", 7],"contact":null})", R"( {"name":"x","age":7})"},
       {R"({"age":36,"name":"Ada"})", R"({"name":"Ada"})", R"({"name":"Ada","age":131})", R"({"name":"Ada","age":036})",
        R"({"name":"Ada","age":1,"height":0})", R"({"name":"Ada","age":1,"height":2.721})",
        R"({"name":"a","age":1,"born":"1997-02-29"})", R"({"name":"a","age":1,"address":{"city":""}})",
        R"({"name":"a","age":1,"address":{"city":"b","zip":"1234"}})", R"({"name":"a","age":1,"tags":["other"]})",
        R"({"name":"a","age":1,"tags":[7,7,7,7]})", R"({"name":"a","age":1,})", R"({"name":"a" ,"age":1})", "{}"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"const": 1}}})",
       {"{}", R"({"a":1})", R"({"b":1})", R"({"c":1})", R"({"a":1,"b":-2})", R"({"a":0,"c":1})",
        R"({"a":1,"b":2,"c":1})"},
       {R"({"b":1,"a":1})", R"({"c":2})", R"({"a":1.5})", R"({"a":-0})", R"({"d":1})", R"({,"b":1})"}},
      {R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": {"type": "null"}, "minItems": 1})",
       {R"(["a"])", R"(["a",true])", R"(["a",false,null,null])"},
       {"[]", R"([true])", R"(["a",null])", R"(["a",true,1])", R"(["a",])"}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4})",
       {"[1,2]", "[1, 2, 3]", "[1,2,3,4]"},
       {"[1]", "[1,2,3,4,5]", "[]"}},
      {R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "minimum": 1}}, "required": ["kind"]},
                     {"type": "object", "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}}, "required": ["kind", "name"]}]})",
       {R"({"kind":"cat","lives":9})", R"({"kind":"cat"})", R"({"kind":"dog","name":"Rex"})"},
       {R"({"kind":"dog"})", R"({"kind":"cow"})", R"({"kind":"cat","lives":0})"}},
      {R"({"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
           "$defs": {"base": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]}}})",
       {R"({"a":3,"b":""})"},
       {R"({"a":2,"b":""})", R"({"b":""})", R"({"a":3})"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
       {R"({"a":1})", R"({"b":[]})", R"({"a":null,"b":{"c":[1]}})"},
       {"{}"}},
      {R"({"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 2})",
       {"{}", R"({"x":1.5e3})", R"({"x":1, "y":-0.25})"},
       {R"({"x":"1"})", R"({"x":1,"y":2,"z":3})"}},
      {R"({"type": "object"})", {"{}", R"({"a": {"b": [1, true, null, "x"]}})"}, {"[]", "1", R"({"a":1)"}},
      {R"({"type": "string", "pattern": "b+|^c"})",
       {R"("abba")", R"("c")", R"("cx\n\"y")", R"("\\b")"},
       {R"("a")", R"("dc")", R"("")"}},
      {R"({"type": "string", "pattern": "^[\\w\"\\n]{2,3}$", "maxLength": 3})",
       {R"("ab")", R"("\"\n_")"},
       {R"("a")", R"("a b")", R"("abcd")"}},
      {R"({"enum": [{"a": [1, 2.5]}, "x/y", false]})",
       {R"({"a":[1,2.5]})", R"({"a": [1, 2.5]})", R"("x/y")", "false"},
       {R"({"a":[1]})", "true"}},
      {R"({"type": ["string", "integer"], "enum": ["a", 1, null]})", {R"("a")", "1"}, {"null"}},
      {R"({"type": "string", "format": "date-time"})",
       {R"("2024-02-29T23:59:59Z")", R"("1999-12-31T00:00:00.25+01:30")"},
       {R"("2023-02-29T23:59:59Z")", R"("2024-02-29T24:00:00Z")", R"("2024-02-29 23:59:59Z")",
        R"("2100-02-29T00:00:00Z")"}},
      {R"({"type": "string", "format": "uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"}},
      {R"({"type": "string", "format": "ipv4"})", {R"("127.0.0.1")"}, {R"("256.0.0.1")", R"("01.0.0.1")"}},
      {R"({"type": "string", "minLength": 2, "maxLength": 1500})", {R"("ab")", R"("äö€𝄞")"}, {R"("a")"}}};
  return all;
}

TEST(JsonSchema, MatchesGoodDocumentsAndNoBadOnes) {
  for (const Documents& one : documents()) {
    const ByteAutomaton automaton = automaton_of_regex(regex_of_json_schema(one.schema));
    for (const char* const text : one.good) {
      EXPECT_TRUE(is_valid(Json::parse(text), Json::parse(one.schema), Json::parse(one.schema))) << text;
      EXPECT_TRUE(automaton.matches(text)) << one.schema << "\n" << text;
    }
    for (const char* const text : one.bad) {
      EXPECT_FALSE(automaton.matches(text)) << one.schema << "\n" << text;
    }
  }
}

TEST(JsonSchema, TextsOfItsExpressionAreValid) {
  std::mt19937 random(1);
  for (const Documents& one : documents()) {
    expect_valid_texts(Json::parse(one.schema), random, 300);
  }
}

// Random schemas of everything that is supported.
class DrawnSchemas {
 public:
  explicit DrawnSchemas(std::mt19937& random) : random_(random) {}

  Json draw(int depth) {
    switch (below(depth > 0 ? 10 : 6)) {
      case 0:
        return bounded(one_of({"integer", "number"}));
      case 1:
        return lengths();
      case 2:
        return {{"enum", {one_of({"a", "b c", "\"", "ä\n"}), below(9) - 4, nullptr}}};
      case 3:
        return one_of({Json(true), {{"type", "null"}}, {{"type", {"boolean", "null"}}}, {{"const", 0.5}}});
      case 4:
        return {{"type", "string"}, {"format", one_of({"date", "time", "date-time", "uuid", "email", "ipv4"})}};
      case 5:
        return {{"type", "string"},
                {"pattern", one_of({"^a+$", "x|y", "^\\d{2}", "[^a]z$", "(ab?){2}", "\\S-.", "\\\\\""})}};
      case 6:
      case 7:
        return object(depth - 1);
      case 8:
        return array(depth - 1);
      default:
        return {{one_of({"anyOf", "oneOf", "allOf"}), {draw(depth - 1), draw(depth - 1)}}};
    }
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  Json one_of(const std::vector<Json>& values) { return values[random_() % values.size()]; }

  Json bounded(const Json& type) {
    Json schema{{"type", type}};
    for (const char* const key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      if (below(3) == 0) {
        const double scale = std::pow(10.0, below(6) - 2);
        schema[key] = below(2) == 0 ? Json((below(2001) - 1000) * scale) : Json(below(41) - 20);
      }
    }
    return schema;
  }

  Json lengths() {
    Json schema{{"type", "string"}};
    const int least = below(4);
    schema["minLength"] = least;
    if (below(2) == 0) {
      schema["maxLength"] = least + below(4);
    }
    return schema;
  }

  Json object(int depth) {
    Json schema{{"type", "object"}};
    for (const char* const name : {"a", "b", "c\"", "d"}) {
      if (below(2) == 0) {
        schema["properties"][name] = draw(depth);
        if (below(2) == 0) {
          schema["required"].push_back(name);
        }
      }
    }
    if (below(2) == 0) {
      schema["additionalProperties"] = one_of({true, false, draw(0)});
    }
    return schema;
  }

  Json array(int depth) {
    Json schema{{"type", "array"}, {"items", draw(depth)}};
    for (int i = below(3); i > 0; --i) {
      schema["prefixItems"].push_back(draw(depth));
    }
    const int least = below(3);
    schema["minItems"] = least;
    if (below(2) == 0) {
      schema["maxItems"] = least + below(3);
    }
    return schema;
  }

  std::mt19937& random_;
};

TEST(JsonSchema, TextsOfRandomSchemasAreValid) {
  std::mt19937 random(2);
  DrawnSchemas schemas(random);
  int accepted = 0;
  for (int i = 0; i < 600; ++i) {
    const Json schema = schemas.draw(2);
    std::string expression;
    try {
      expression = regex_of_json_schema(schema.dump());
    } catch (const ConfigError&) {
      continue;
    }
    if (expression.size() > 20'000) {
      continue;
    }
    ++accepted;
    expect_valid_texts(schema, random, 30);
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(accepted, 300);
}

// Every number of a grid is written exactly when it is within the bounds.
TEST(JsonSchema, BoundsHoldForEachNumber) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    Json schema{{"type", i % 2 == 0 ? "integer" : "number"}};
    for (const char* const key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      if (random() % 2 == 0) {
        const int at = static_cast<int>(random() % 61) - 30;
        schema[key] = random() % 2 == 0 ? Json(at) : Json(at / 4.0);
      }
    }
    std::optional<ByteAutomaton> automaton;
    try {
      automaton = automaton_of_regex(regex_of_json_schema(schema.dump()));
    } catch (const ConfigError&) {
    }
    for (int n = -1280; n <= 1280; ++n) {
      // Eighths, as integers where they are.
      const Json value = n % 8 == 0 ? Json(n / 8) : Json(n / 8.0);
      ASSERT_EQ(automaton && automaton->matches(value.dump()), is_valid(value, schema, schema))
          << schema << " " << value;
    }
  }
}

TEST(JsonSchema, IntegersReachToFifteenDigits) {
  const auto matches = [](const char* schema, const char* text) {
    return automaton_of_regex(regex_of_json_schema(schema)).matches(text);
  };
  EXPECT_TRUE(matches(R"({"type":"integer"})", "-999999999999999"));
  EXPECT_FALSE(matches(R"({"type":"integer"})", "1000000000000000"));
  EXPECT_TRUE(matches(R"({"type":"integer","minimum":-9223372036854775808})", "-999999999999999"));
  EXPECT_TRUE(matches(R"({"type":"integer","minimum":99,"maximum":1e30})", "999999999999999"));
  EXPECT_FALSE(matches(R"({"type":"integer","minimum":100})", "99"));
  EXPECT_TRUE(matches(R"({"type":"number","minimum":0.000001})", "0.000001"));
  EXPECT_FALSE(matches(R"({"type":"number","minimum":0.000001})", "0.0000009"));
}

TEST(JsonSchema, AnObjectNestsFourDeep) {
  const ByteAutomaton automaton = automaton_of_regex(regex_of_json_object());
  EXPECT_TRUE(automaton.matches(R"({"a": [{"b": [1, "x", null]}], "c": 0.5})"));
  EXPECT_FALSE(automaton.matches(R"({"a": [{"b": [[1]]}]})"));
  EXPECT_FALSE(automaton.matches("[]"));
  EXPECT_LT(automaton.states(), 40'000);
}

TEST(JsonSchema, RefusesByName) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "not JSON"},
      {"[1]", "expected a schema"},
      {"false", "this schema allows no value"},
      {R"({"type":"text"})", "type is \"text\", expected null"},
      {R"({"type":[]})", "this schema allows no type"},
      {R"({"not":{}})", "#: the keyword 'not' is not supported"},
      {R"({"type":"object","properties":{"a":{"type":"integer","multipleOf":2}}})",
       "#/properties/a: the keyword 'multipleOf' is not supported"},
      {R"({"type":"object","patternProperties":{}})", "'patternProperties' is not supported"},
      {R"({"type":"string","minimum":1})", "the keyword 'minimum' says nothing about [\"string\"]"},
      {R"({"type":"string","format":"uri"})", "format 'uri' is not supported"},
      {R"~({"type":"string","pattern":"(?=a)"})~", "the pattern is not supported"},
      {R"({"type":"string","pattern":"a","maxLength":5})", "together with minLength or maxLength"},
      {R"({"type":"string","minLength":-1})", "minLength is -1, expected a number from 0"},
      {R"({"type":"string","minLength":3,"maxLength":2})", "minLength is above maxLength"},
      {R"({"type":"array","uniqueItems":true})", "'uniqueItems' is not supported"},
      {R"({"type":"array","items":[{}]})", "#/items: expected a schema"},
      {R"({"type":"object","properties":[]})", "properties is not an object"},
      {R"({"type":"object","required":["a"],"additionalProperties":false})", "this schema allows no value"},
      {R"({"type":"integer","minimum":0.2,"maximum":0.8})", "no integer"},
      {R"({"type":"number","minimum":2,"maximum":1})", "no number"},
      {R"({"enum":["a"],"minLength":1})", "'minLength' together with enum"},
      {R"({"type":"integer","enum":["a"]})", "this schema allows no value"},
      {R"({"minimum":1,"minLength":1})", "keywords about several types need a 'type'"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "may be valid against branches 0 and 1"},
      {R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})", "two values of 'pattern' can't be put together"},
      {R"({"$ref":"other.json"})", "expected one within the schema"},
      {R"({"$ref":"#/$defs/a"})", "refers to nothing"},
      {R"({"$ref":"#"})", "recursive schemas are not supported"},
      {R"({"$defs":{"a":{"type":"object","properties":{"next":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"})",
       "#/properties/next: $ref '#/$defs/a' is part of what it refers to: recursive schemas are not supported"}};
  for (const auto& [schema, message] : cases) {
    try {
      regex_of_json_schema(schema, "form.json");
      ADD_FAILURE() << schema << " is accepted";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith("form.json"), HasSubstr(message))) << schema;
    }
  }
}

// Each definition has the one before twice: the size doubles with each.
TEST(JsonSchema, RefusesWhatGrowsWithoutEnd) {
  for (const char* const form :
       {R"({"type":"array","prefixItems":[R,R]})", R"({"allOf":[R,R]})", R"({"anyOf":[R,R]})"}) {
    Json schema{{"$defs", {{"d0", {{"type", "string"}, {"title", "x"}}}}}, {"$ref", "#/$defs/d40"}};
    for (int i = 1; i <= 40; ++i) {
      std::string text = form;
      for (size_t at = text.find('R'); at != std::string::npos; at = text.find('R', at)) {
        text.replace(at, 1, R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + "\"}");
        at += 10;
      }
      schema["$defs"]["d" + std::to_string(i)] = Json::parse(text);
    }
    EXPECT_THROW(regex_of_json_schema(schema.dump()), ConfigError) << form;
  }
}

}  // namespace
}  // namespace heed
