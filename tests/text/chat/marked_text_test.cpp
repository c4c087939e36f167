#include "text/chat/marked_text.h"

#include <gtest/gtest.h>

#include "text/tokenizer_training.h"

namespace heed {
namespace {

TEST(MarkedText, MarksAreTokensAndWhatLiesBetweenIsText) {
  int lines = 0;
  const auto tokenizer =
      train_tokenizer({.kind = TokenizerKind::byte, .vocabulary = 0, .user_symbols = {}}, [&](std::string& line) {
        line = "a";
        return lines++ == 0;
      });
  const SpecialTokens& special = tokenizer->special();
  const auto plain = [&](std::string_view text) { return tokenizer->encode(text); };
  EXPECT_EQ(encode_marked_text(*tokenizer, "no mark"), plain("no mark"));
  EXPECT_EQ(encode_marked_text(*tokenizer, ""), std::vector<TokenId>{});
  std::vector<TokenId> expected{special.bos};
  for (const TokenId token : plain("a</")) {
    expected.push_back(token);
  }
  expected.insert(expected.end(), {special.eos, special.eos});
  for (const TokenId token : plain(">b")) {
    expected.push_back(token);
  }
  EXPECT_EQ(encode_marked_text(*tokenizer, "<s>a</</s></s>>b"), expected);
  EXPECT_NE(plain("</s>"), std::vector<TokenId>{special.eos});
}

}  // namespace
}  // namespace heed
