#include "interchange/marian/marian_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MarianVocabulary : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file("yml")), std::filesystem::remove(file("txt")); }

  static std::filesystem::path file(const std::string& ending) {
    return test::folder_of_test().replace_extension(ending);
  }
  static std::vector<std::string> read(const std::string& ending, const std::string& text) {
    write_file(file(ending), text);
    return read_marian_vocabulary(file(ending));
  }
  static std::string refusal(const std::string& text) {
    try {
      read("yml", text);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(MarianVocabulary, HasATokenForEachNumber) {
  EXPECT_THAT(
      read("yml",
           "---\n</s>: 0\n<unk>: 1\n\"▁a\": 3\r\n'it''s': 2\n\": \": 4\n\"\\\"\\\\\\x41\\u00e9\\U0001F600\": 5\n"),
      ElementsAre("</s>", "<unk>", "it's", "▁a", ": ", "\"\\Aé😀"));
}

TEST_F(MarianVocabulary, OfTextsHasATokenOnEachLine) {
  EXPECT_THAT(read("txt", "</s>\n<unk>\na: 1\n"), ElementsAre("</s>", "<unk>", "a: 1"));
}

TEST_F(MarianVocabulary, BrokenOnesAreRefused) {
  EXPECT_THAT(refusal("a: 0\nb\n"), HasSubstr("line 2: 'b' is not a token and its number"));
  EXPECT_THAT(refusal("a: x\n"), HasSubstr("line 1: 'a: x' is not"));
  EXPECT_THAT(refusal("\"a: 0\n"), HasSubstr("is not a token and its number"));
  EXPECT_THAT(refusal("\"\\q\": 0\n"), HasSubstr("is not a token and its number"));
  EXPECT_THAT(refusal("\"\\ud800\": 0\n"), HasSubstr("is not a token and its number"));
  EXPECT_THAT(refusal("a: 0\nb: 0\n"), HasSubstr("line 2: a second token has the number 0"));
  EXPECT_THAT(refusal("a: 0\nb: 2\n"), HasSubstr("no token has the number 1"));
  EXPECT_THAT(refusal("a: 0\na: 1\n"), HasSubstr("the token 'a' occurs twice"));
  EXPECT_THAT(refusal("a: 1000000000000\n"), HasSubstr("token 'a' has the number 1000000000000"));
}

}  // namespace
}  // namespace heed
