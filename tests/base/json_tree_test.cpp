#include "base/text/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace heed::test {
namespace {

using Json = nlohmann::json;

JsonTree<Json> parsed(std::string_view text) {
  return parse_json_tree<Json>(text, [](const Json::exception& error) { throw std::runtime_error(error.what()); });
}

TEST(JsonTree, HoldsWhatTheParserFinds) {
  for (const char* const text :
       {"null", "true", "-5", "18446744073709551615", "1.5e300", "\"\\u00e9\\n\"", "[]", "{}",
        "[[], {}, [[1, [2]]], 3]", R"({"a": {"b": [1, {"c": null}], "d": {}}, "e": [true, "x"], "": 0.25})",
        R"({"a": [1, 2], "a": {"b": 3}})", R"({"a": {"x": [1]}, "b": 1, "a": 2})", " [1 , 2 ] "}) {
    EXPECT_EQ(parsed(text).root(), Json::parse(text)) << text;
  }
}

TEST(JsonTree, WhatIsNoJsonIsSaidInTheParsersWords) {
  for (const char* const text : {"", "{", "[1,", "[1] 2", "{\"a\"}", "nul", "\"\xff\"", "1e999", "[1, 2}"}) {
    std::string expected;
    try {
      const Json unexpected = Json::parse(text);
    } catch (const Json::exception& error) {
      expected = error.what();
    }
    try {
      parsed(text);
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), expected);
    }
  }
}

TEST(JsonTree, NothingIsLeftToListWhenItIsFreed) {
  JsonTree<Json> tree = parsed(R"({"a": {"b": [1, {"c": ["d"]}]}, "e": ["x", "y"]})");
  JsonTree<Json>::clear(tree.root());
  EXPECT_TRUE(tree.root().is_object());
  EXPECT_TRUE(tree.root().empty());
  const JsonTree<Json> moved = std::move(tree);
  EXPECT_TRUE(moved.root().is_object());
}

}  // namespace
}  // namespace heed::test
