#include "text/lines/multiline.h"

#include <gmock/gmock.h>

#include "tokenizer_testing.h"

namespace heed::test {
namespace {

using Kind = TokenizerKind;

const std::vector<std::string> kTexts{
    "",
    "\n",
    "\n\n\n",
    "one line",
    "two\nlines",
    "ends\n",
    "\nx",
    "a\n\n b",
    "  indented\n\t x \n",
    "not\r\nours\r\n",
    "hello  \n 😀\n",
};

class MultilineText : public testing::TestWithParam<Kind> {};

TEST_P(MultilineText, IsRestoredExactlyByKindsThatKeepEveryCharacter) {
  const Tokenizer& tokenizer = trained(GetParam());
  for (const std::string& text : kTexts) {
    const std::vector<TokenId> tokens = encode_text(tokenizer, text);
    if (std::ranges::find(tokens, tokenizer.special().unk) == tokens.end()) {
      EXPECT_EQ(decode_text(tokenizer, tokens), text);
    }
  }
}

TEST_P(MultilineText, EncodesEachLineLikeATextOfOneLine) {
  const Tokenizer& tokenizer = trained(GetParam());
  const std::vector<TokenId> line = tokenizer.encode("hello hello");
  std::vector<TokenId> expected = line;
  expected.push_back(line_break_token(tokenizer).value());
  expected.insert(expected.end(), line.begin(), line.end());
  EXPECT_EQ(encode_text(tokenizer, "hello hello\nhello hello"), expected);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MultilineText, testing::Values(Kind::bpe, Kind::unigram, Kind::character, Kind::byte),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(LineBreak, HasNoTokenInWordTokenizersUnlessItIsAUserSymbol) {
  EXPECT_EQ(line_break_token(trained(Kind::word)), std::nullopt);
  EXPECT_EQ(encode_text(trained(Kind::word), "hello"), trained(Kind::word).encode("hello"));
  expect_error<ConfigError>([] { encode_text(trained(Kind::word), "hello\nhello"); },
                            {"text: it has several lines, but the word tokenizer has no token for a line break"});
  const auto words =
      train_tokenizer({.kind = Kind::word, .user_symbols = {"\n"}}, lines_of({"hello you", "hello you"}));
  EXPECT_EQ(line_break_token(*words), TokenId(5));
  EXPECT_EQ(decode_text(*words, encode_text(*words, "hello\n\nyou hello\n")), "hello\n\nyou hello\n");
}

}  // namespace
}  // namespace heed::test
