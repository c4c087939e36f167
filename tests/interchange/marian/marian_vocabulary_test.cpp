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
  void TearDown() override {
    for (const char* const ending : {"yml", "txt", "json"}) {
      std::filesystem::remove(file(ending));
    }
  }

  static std::filesystem::path file(const std::string& ending) {
    return test::folder_of_test().replace_extension(ending);
  }
  static std::vector<std::string> read(const std::string& ending, const std::string& text) {
    write_file(file(ending), text);
    return read_marian_vocabulary(file(ending));
  }
  static std::string refusal(const std::string& text, const std::string& ending = "yml") {
    try {
      read(ending, text);
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

TEST_F(MarianVocabulary, OfJsonHasATokenForEachNumber) {
  EXPECT_THAT(read("json", R"({"b": 1, "a\u00e9": 0})"), ElementsAre("aé", "b"));
  EXPECT_THAT(refusal("[]", "json"), HasSubstr("is not an object of tokens and their numbers"));
  EXPECT_THAT(refusal(R"({"a": "0"})", "json"), HasSubstr("token 'a' has no number"));
  EXPECT_THAT(refusal(R"({"a": 1})", "json"), HasSubstr("token 'a' has the number 1"));
  EXPECT_THAT(refusal(R"({"a": 0, "b": 0})", "json"), HasSubstr("'a' and 'b' have the number 0"));
}

TEST_F(MarianVocabulary, BrokenOnesAreRefused) {
  EXPECT_THAT(refusal("a: 0\nb\n"), HasSubstr("line 2: 'b' is not a token and its number"));
  EXPECT_THAT(refusal("a: x\n"), HasSubstr("line 1: 'a: x' is not"));
  EXPECT_THAT(refusal("\"a: 0\n"), HasSubstr("is not a token and its number"));
  EXPECT_THAT(refusal("\"\\q\": 0\n"), HasSubstr("is not a token and its number"));
  EXPECT_THAT(refusal("\"\\ud800\": 0\n"), HasSubstr("is not a token and its number"));
  EXPECT_THAT(refusal("a: 0\nb: 0\n"), HasSubstr("'a' and 'b' have the number 0"));
  EXPECT_THAT(refusal("a: 0\nb: 2\n"), HasSubstr("no token has the number 1"));
  EXPECT_THAT(refusal("a: 0\na: 1\n"), HasSubstr("the token 'a' occurs twice"));
  EXPECT_THAT(refusal("a: 1000000000000\n"), HasSubstr("token 'a' has the number 1000000000000"));
}

}  // namespace
}  // namespace heed
