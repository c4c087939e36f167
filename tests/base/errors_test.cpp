#include "base/errors.h"

#include <gtest/gtest.h>

#include <string>

#include "base/strong.h"

namespace heed {
namespace {

template <class Kind, class Body>
std::string text_of(Body&& body) {
  try {
    body();
  } catch (const Kind& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Errors, SayWhereAndWhat) {
  EXPECT_EQ(text_of<FormatError>([] { fail<FormatError>("model.heed", "byte {}: {} expected", 17, "a name"); }),
            "model.heed: byte 17: a name expected");
  EXPECT_EQ(text_of<IoError>([] { fail<IoError>("disk", "full"); }), "disk: full");
}

TEST(Errors, ARequirementThatHoldsSaysNothing) {
  EXPECT_NO_THROW(require(true, "linear", "{}", 1));
  EXPECT_NO_THROW(ensure(true, "linear", "{}", 1));
}

TEST(Errors, ARequirementThatFailsThrowsItsKind) {
  EXPECT_EQ(text_of<ShapeError>([] { require(false, "linear", "{} columns for {} inputs", 3, 4); }),
            "linear: 3 columns for 4 inputs");
  EXPECT_EQ(text_of<ConfigError>([] { require<ConfigError>(false, "heads", "{} do not divide {}", 3, 512); }),
            "heads: 3 do not divide 512");
  EXPECT_EQ(text_of<InternalError>([] { ensure(false, "tape", "empty"); }), "tape: empty");
}

TEST(Errors, AnyOfThemIsAnError) {
  EXPECT_THROW(fail<ConfigError>("x", "y"), Error);
  EXPECT_THROW(fail<FormatError>("x", "y"), Error);
  EXPECT_THROW(fail<ShapeError>("x", "y"), Error);
  EXPECT_THROW(fail<IoError>("x", "y"), Error);
  EXPECT_THROW(fail<InternalError>("x", "y"), std::runtime_error);
}

TEST(Errors, ArgumentsAreNotReadAsFormats) {
  EXPECT_EQ(text_of<IoError>([] { fail<IoError>("{}", "{}", "{} {0} %s"); }), "{}: {} {0} %s");
}

TEST(Strong, ComparesAndDoesNotConvert) {
  EXPECT_LT(TokenId(3), TokenId(4));
  EXPECT_EQ(TokenId(3), TokenId(3));
  EXPECT_EQ(Width().value, 0);
  static_assert(!std::is_convertible_v<int64_t, Width>);
  static_assert(!std::is_convertible_v<Width, Heads>);
  static_assert(!std::is_constructible_v<Heads, Width>);
}

}  // namespace
}  // namespace heed
