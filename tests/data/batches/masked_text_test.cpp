#include "data/batches/masked_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "data/data_testing.h"
#include "text/token_ids.h"
#include "text/tokenizer_testing.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr RandomKey kKey{7};

std::unique_ptr<Tokenizer> word_pieces() {
  const std::vector<std::string> lines{"lowest newest widest low new wide er", "lower newer wider lowest newest"};
  auto next = lines.begin();
  return train_tokenizer({.kind = TokenizerKind::wordpiece, .vocabulary = 40, .user_symbols = {"<mask>"}},
                         [&](std::string& line) {
                           if (next == lines.end()) {
                             return false;
                           }
                           line = *next++;
                           return true;
                         });
}

TokenId mask_of(const Tokenizer& tokenizer) { return *tokenizer.find("<mask>"); }

Sequences repeated(const std::vector<TokenId>& tokens, int64_t times, uint64_t first_row = 0) {
  return Sequences(std::vector(static_cast<size_t>(times), ids_of(tokens)), first_row);
}

std::vector<int32_t> ids_in(const Sequences& text) { return {text.tokens().ids().begin(), text.tokens().ids().end()}; }

TEST(Masking, ChoosesMasksReplacesAndKeepsTheGivenShares) {
  const auto tokenizer = word_pieces();
  const TokenId mask = mask_of(*tokenizer);
  const Sequences text = repeated(tokenizer->encode("lowest newest widest"), 20000);
  const TokenBatch masked = Masking(*tokenizer, mask, {}).apply(text, kKey);
  const std::vector<int32_t> ids = ids_in(text), seen = ids_in(masked.tokens);
  double chosen = 0, hidden = 0, kept = 0;
  for (size_t row = 0; row < ids.size(); ++row) {
    if (masked.expected.ids()[row] == Targets::kIgnored) {
      EXPECT_EQ(seen[row], ids[row]);
      continue;
    }
    EXPECT_EQ(masked.expected.ids()[row], ids[row]);
    chosen += 1;
    hidden += seen[row] == mask.value ? 1 : 0;
    kept += seen[row] == ids[row] ? 1 : 0;
  }
  const auto rows = static_cast<double>(ids.size());
  EXPECT_NEAR(chosen / rows, 0.15, 0.005);
  EXPECT_NEAR(hidden / chosen, 0.8, 0.01);
  // A random token is the same one by chance.
  const auto ordinary = static_cast<double>(tokenizer->vocabulary_size() - 6);
  EXPECT_NEAR(kept / chosen, 0.1 + 0.1 / ordinary, 0.01);
}

TEST(Masking, DrawsByTheRowOfTheUpdateHoweverItIsCut) {
  const auto tokenizer = word_pieces();
  const Masking masking(*tokenizer, mask_of(*tokenizer), {.chosen = 0.5});
  const std::vector<TokenId> sentence = tokenizer->encode("lowest newest");
  const TokenBatch whole = masking.apply(repeated(sentence, 8), kKey);
  const TokenBatch first = masking.apply(repeated(sentence, 3), kKey);
  const TokenBatch second = masking.apply(repeated(sentence, 5, 3 * sentence.size()), kKey);
  std::vector<int32_t> joined = ids_in(first.tokens);
  std::ranges::copy(ids_in(second.tokens), std::back_inserter(joined));
  EXPECT_EQ(joined, ids_in(whole.tokens));
  EXPECT_NE(ids_in(masking.apply(repeated(sentence, 8), RandomKey{8}).tokens), ids_in(whole.tokens));
}

TEST(Masking, ChoosesWholeWordsOrNone) {
  const auto tokenizer = word_pieces();
  const std::vector<TokenId> sentence = tokenizer->encode("lowest newest widest lower");
  const Masking masking(*tokenizer, mask_of(*tokenizer), {.chosen = 0.5, .unit = MaskUnit::words});
  const Sequences text = repeated(sentence, 200);
  const TokenBatch masked = masking.apply(text, kKey);
  const std::span<const int32_t> ids = text.tokens().ids(), expected = masked.expected.ids();
  int64_t of_several = 0, differing_words = 0;
  for (size_t row = 1; row < ids.size(); ++row) {
    const bool continues = tokenizer->piece(TokenId(ids[row])).starts_with("##");
    const bool chosen = expected[row] != Targets::kIgnored;
    const bool before = expected[row - 1] != Targets::kIgnored;
    of_several += continues ? 1 : 0;
    differing_words += !continues && chosen != before ? 1 : 0;
    EXPECT_TRUE(!continues || chosen == before) << row;
  }
  EXPECT_GT(of_several, 100);
  EXPECT_GT(differing_words, 100);
}

TEST(Masking, NeverChoosesMarks) {
  const auto tokenizer = word_pieces();
  const SpecialTokens& special = tokenizer->special();
  std::vector<TokenId> sentence = tokenizer->encode("newest");
  const auto words = static_cast<int64_t>(sentence.size());
  sentence.insert(sentence.begin(), special.bos);
  sentence.insert(sentence.end(), {special.sep, special.eos, special.pad, mask_of(*tokenizer)});
  const Masking masking(*tokenizer, mask_of(*tokenizer), {.chosen = 1.0, .masked = 1.0, .random = 0.0});
  TokenBatch masked = masking.apply(repeated(sentence, 1), kKey);
  EXPECT_EQ(masked.expected.counted(), words);
  EXPECT_EQ(masked.expected.ids().front(), Targets::kIgnored);
}

TEST(Masking, MasksTheFirstMaskableTokenWhenNoneWasChosen) {
  const auto tokenizer = word_pieces();
  const Masking masking(*tokenizer, mask_of(*tokenizer), {});
  const int32_t word = tokenizer->encode("new").front().value;
  TokenBatch text{Sequences({{tokenizer->special().bos.value, word}}, 0),
                  Targets({Targets::kIgnored, Targets::kIgnored})};
  EXPECT_TRUE(masking.mask_first_maskable(text));
  EXPECT_THAT(text.tokens.tokens().ids(), ElementsAre(tokenizer->special().bos.value, mask_of(*tokenizer).value));
  EXPECT_THAT(text.expected.ids(), ElementsAre(Targets::kIgnored, word));
  TokenBatch marks{Sequences({{tokenizer->special().bos.value}}, 0), Targets({Targets::kIgnored})};
  EXPECT_FALSE(masking.mask_first_maskable(marks));
}

TEST(Masking, RefusesSharesThatMakeNoSenseAndWordsOfBytes) {
  const auto refusal = [](const MaskingRules& rules) { return message_of<ConfigError>([&] { rules.validate(); }); };
  EXPECT_THAT(refusal({.chosen = 0.0}), HasSubstr("data.mask_share is 0"));
  EXPECT_THAT(refusal({.chosen = 1.5}), HasSubstr("data.mask_share is 1.5"));
  EXPECT_THAT(refusal({.masked = 0.8, .random = 0.3}), HasSubstr("data.random_token_share 0.3"));
  EXPECT_EQ(refusal({}), "");
  const Tokenizer& bytes = test::trained(TokenizerKind::byte);
  EXPECT_THAT(message_of<ConfigError>([&] { Masking(bytes, bytes.special().pad, {.unit = MaskUnit::words}); }),
              HasSubstr("data.whole_words"));
}

class TextWithMarks : public InFolder {};

TEST_F(TextWithMarks, GivesEachTokenOfAPairTheTypeOfItsText) {
  ThreadPool pool(1);
  const Tokenizer& bytes = test::trained(TokenizerKind::byte);
  const TextRules rules{
      .files = {put("a", "ab\tc\n\nd\tef\n")}, .documents = Documents::lines, .columns = TextColumns::pair};
  const TextCorpus corpus = read_text_corpus(rules, bytes, pool);
  const MarkedText text(corpus, DocumentBorders::kept);
  ASSERT_EQ(text.size(), 12);  // <ab|c><d|ef>
  const TokenId sep = bytes.special().sep;
  const std::vector<RowRange> whole{{0, 12}}, parts{{4, 9}, {10, 12}};
  EXPECT_THAT(text.read(whole).tokens().ids(),
              ElementsAre(2, 5 + 'a', 5 + 'b', sep.value, 5 + 'c', 3, 2, 5 + 'd', sep.value, 5 + 'e', 5 + 'f', 3));
  EXPECT_THAT(text.types(whole, sep), ElementsAre(0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(text.types(parts, sep), ElementsAre(1, 1, 0, 0, 0, 1, 1));
  TextRules wrong = rules;
  wrong.files = {put("b", "a\tb\nc\n")};
  EXPECT_THAT(message_of<FormatError>([&] { read_text_corpus(wrong, bytes, pool); }),
              HasSubstr("b:2: 1 column, expected 2"));
}

TEST_F(TextWithMarks, IncludesBosAndEosOfEachDocument) {
  ThreadPool pool(1);
  const Tokenizer& bytes = test::trained(TokenizerKind::byte);
  const TextCorpus corpus =
      read_text_corpus({.files = {put("a", "ab\nc\n")}, .documents = Documents::lines}, bytes, pool);
  const MarkedText text(corpus, DocumentBorders::kept);
  EXPECT_EQ(text.size(), 7);  // <ab><c>
  const std::vector<RowRange> ranges{{1, 6}};
  const Sequences read = text.read(ranges, 4);
  EXPECT_THAT(read.tokens().ids(), ElementsAre(5 + 'a', 5 + 'b', 3, 2, 5 + 'c'));
  EXPECT_EQ(read.segments().count(), 2);
  EXPECT_EQ(read.segments().length(0), 3);
  EXPECT_EQ(read.segments().first_row(), 4U);
  EXPECT_EQ(MarkedText(corpus, DocumentBorders::crossed).read(ranges).segments().count(), 1);
}

}  // namespace
}  // namespace heed
