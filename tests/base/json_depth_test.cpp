#include "base/text/json_depth.h"

#include <gtest/gtest.h>

#include <string>

#include "base/errors.h"

namespace heed {
namespace {

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonDepth, IsLimited) {
  EXPECT_NO_THROW(require_shallow_json(nested(64), "x"));
  EXPECT_THROW(require_shallow_json(nested(65), "x"), FormatError);
  EXPECT_THROW(require_shallow_json(std::string(65, '{'), "x"), FormatError);
}

TEST(JsonDepth, CountsOpenBracketsAtOneTime) {
  std::string many = "[";
  for (int i = 0; i < 100; ++i) {
    many += "[{}], ";
  }
  EXPECT_NO_THROW(require_shallow_json(many + "[]]", "x"));
}

TEST(JsonDepth, IgnoresBracketsInStrings) {
  EXPECT_NO_THROW(require_shallow_json("[\"" + std::string(100, '[') + "\"]", "x"));
  EXPECT_NO_THROW(require_shallow_json(R"(["\")" + std::string(100, '[') + "\"]", "x"));
  EXPECT_THROW(require_shallow_json(R"(["\\")" + std::string(100, '['), "x"), FormatError);
  EXPECT_NO_THROW(require_shallow_json("\"\\", "x")) << "ends in the middle of an escape";
}

}  // namespace
}  // namespace heed
