#include "text/unicode/text_origins.h"

#include "text/unicode/normalization.h"
#include "tokenizer_testing.h"

namespace heed::test {
namespace {

using Ranges = std::vector<TokenOffsets>;

Ranges ranges_of(const Tokenizer& tokenizer, const std::string& text) {
  return characters_of(text, tokenizer.origins(text));
}

TEST(TextOrigins, FollowEachStepOfANormalization) {
  // "ﬁ" becomes two letters, "a" with a combining diaeresis one, "Ω" (the ohm sign) a letter and then a small one.
  const std::string text = "x\ufb01 a\u0308\u2126!";
  const TracedText traced = normalize_traced(text, {NormalForm::nfkc, LetterCase::lower});
  ASSERT_EQ(traced.text, "xfi \u00e4\u03c9!");
  EXPECT_EQ(traced.text, normalize(text, {NormalForm::nfkc, LetterCase::lower}));
  const auto characters = [&](size_t begin, size_t end) {
    return characters_of(text, {traced.origins.of({begin, end})}).front();
  };
  EXPECT_EQ(characters(0, 1), (TokenOffsets{0, 1}));
  EXPECT_EQ(characters(1, 2), (TokenOffsets{1, 2}));
  EXPECT_EQ(characters(2, 3), (TokenOffsets{1, 2}));
  EXPECT_EQ(characters(4, 6), (TokenOffsets{3, 5}));
  EXPECT_EQ(characters(6, 8), (TokenOffsets{5, 6}));
  EXPECT_EQ(characters(8, 9), (TokenOffsets{6, 7}));
}

TEST(TextOrigins, OfABytesPartIsItsCharacter) {
  const std::string text = "a\u00e4";
  EXPECT_EQ(characters_of(text, {{1, 2}, {2, 3}, {3, 3}, {0, 3}}), (Ranges{{1, 2}, {1, 2}, {2, 2}, {0, 2}}));
}

class OriginsOfEachKind : public testing::TestWithParam<TokenizerKind> {};

TEST_P(OriginsOfEachKind, AreOnePerTokenInOrderAndSpellIt) {
  const Tokenizer& tokenizer = trained(GetParam());
  for (const std::string text :
       {"", " ", "A man is walking", "  the  small house;", "Ein Ma\u0308dchen", "emoji 😀 and 日本語", "\u2581a"}) {
    const std::vector<TokenId> tokens = tokenizer.encode(text);
    const std::vector<TextSpan> spans = tokenizer.origins(text);
    ASSERT_EQ(spans.size(), tokens.size()) << text;
    for (size_t i = 0; i < spans.size(); ++i) {
      EXPECT_LE(spans[i].begin, spans[i].end);
      EXPECT_LE(spans[i].end, text.size());
      EXPECT_TRUE(i == 0 || spans[i - 1].begin <= spans[i].begin) << text;
      const std::string part = tokenizer.normalize(characters_of(text, {spans[i]}).front() == TokenOffsets{} ||
                                                           GetParam() == TokenizerKind::byte
                                                       ? std::string()
                                                       : std::string(spans[i].in(text)));
      const std::string piece(tokenizer.piece(tokens[i]));
      if (!part.empty() && tokens[i] != tokenizer.special().unk && !piece.starts_with("<0x")) {
        const std::string bare = without_spaces(part);
        EXPECT_TRUE(piece.ends_with(bare)) << text << ": " << piece << ", " << part;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OriginsOfEachKind, testing::ValuesIn(kAllKinds));

TEST(TokenOrigins, CoverTheTextOfASentencePieceModel) {
  const std::string text = "Ein Ma\u0308dchen 日";
  const Tokenizer& tokenizer = trained(TokenizerKind::bpe);
  const Ranges ranges = ranges_of(tokenizer, text);
  ASSERT_FALSE(ranges.empty());
  EXPECT_EQ(ranges.front().begin, 0);
  EXPECT_EQ(ranges.back(), (TokenOffsets{13, 14}));  // the last of three bytes
  for (size_t i = 1; i < ranges.size(); ++i) {
    EXPECT_TRUE(ranges[i].begin == ranges[i - 1].end || ranges[i] == ranges[i - 1]);
  }
}

TEST(TokenOrigins, OfWordsLeaveSpacesOut) {
  EXPECT_EQ(ranges_of(trained(TokenizerKind::word), "A  man unseen!"), (Ranges{{0, 1}, {3, 6}, {7, 13}, {13, 14}}));
  const std::string text = "man unseen";
  const Ranges pieces = ranges_of(trained(TokenizerKind::wordpiece), text);
  EXPECT_EQ(pieces.front(), (TokenOffsets{0, 3}));
  EXPECT_EQ(pieces.back().end, 10);
  EXPECT_EQ(ranges_of(trained(TokenizerKind::byte), "ä!"), (Ranges{{0, 1}, {0, 1}, {1, 2}}));
}

}  // namespace
}  // namespace heed::test
