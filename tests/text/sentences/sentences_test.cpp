#include "text/sentences/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/errors.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> sentences(std::string_view language, std::string_view text, const SentenceLimit& limit = {}) {
  std::vector<std::string> all;
  for (const TextSpan& span : SentenceSplitter(language).split(text, limit)) {
    all.emplace_back(span.in(text));
  }
  return all;
}

SentenceLimit at_most(int64_t bytes) {
  return {bytes, [](std::string_view text) { return static_cast<int64_t>(text.size()); }};
}

TEST(Sentences, EndWhereTheLanguageEndsThem) {
  EXPECT_THAT(sentences("en", "It rains. \"Really?\" she asked!  Yes... It does."),
              ElementsAre("It rains.", "\"Really?\" she asked!", "Yes...", "It does."));
  EXPECT_THAT(sentences("de", "Es regnet. „Wirklich?“ – „Ja!“"), ElementsAre("Es regnet.", "„Wirklich?“ – „Ja!“"));
  EXPECT_THAT(sentences("fr", "Il pleut ! Vraiment ? Oui."), ElementsAre("Il pleut !", "Vraiment ?", "Oui."));
  EXPECT_THAT(sentences("zh", "下雨了。真的吗？是的！"), ElementsAre("下雨了。", "真的吗？", "是的！"));
  EXPECT_THAT(sentences("ja", "雨です。本当ですか？"), ElementsAre("雨です。", "本当ですか？"));
  EXPECT_THAT(sentences("ru", "Идёт дождь. Правда? Да."), ElementsAre("Идёт дождь.", "Правда?", "Да."));
  EXPECT_THAT(sentences("ar", "المطر ينزل. هل هذا صحيح؟ نعم."), ElementsAre("المطر ينزل.", "هل هذا صحيح؟", "نعم."));
  EXPECT_THAT(sentences("xx", "One. Two."), ElementsAre("One.", "Two."));
}

TEST(Sentences, GoOnAfterAbbreviations) {
  EXPECT_THAT(sentences("en", "Dr. Smith met Mr. Jones, e.g. Peter. He left at 5 p.m. on Monday."),
              ElementsAre("Dr. Smith met Mr. Jones, e.g. Peter.", "He left at 5 p.m. on Monday."));
  EXPECT_THAT(sentences("de", "Viele Tiere, z. B. Hunde, bellen. Dr. Meier, d. h. Anna, kommt."),
              ElementsAre("Viele Tiere, z. B. Hunde, bellen.", "Dr. Meier, d. h. Anna, kommt."));
  EXPECT_THAT(sentences("de", "Am 3. Oktober 1990 war es so weit. Es waren 42 Leute da."),
              ElementsAre("Am 3. Oktober 1990 war es so weit.", "Es waren 42 Leute da."));
  EXPECT_THAT(sentences("en", "He was 3. Then he was four. J. R. R. Tolkien wrote it."),
              ElementsAre("He was 3.", "Then he was four.", "J. R. R. Tolkien wrote it."));
  EXPECT_THAT(sentences("fr", "M. Dupont est là. Bonjour."), ElementsAre("M. Dupont est là.", "Bonjour."));
  EXPECT_THAT(sentences("es", "El Sr. García vino. Adiós."), ElementsAre("El Sr. García vino.", "Adiós."));
}

TEST(Sentences, KeepWhatLiesBetween) {
  const std::string text =
      "Title\r\n\r\n  - First item. Second.\n\t* Third\n12. Twelfth\n> quoted\n(a) letter\n---\n42 %\n😀\n\n  "
      "Dr.\nSmith  ";
  EXPECT_THAT(sentences("en", text),
              ElementsAre("Title", "First item.", "Second.", "Third", "Twelfth", "quoted", "letter", "Dr.", "Smith"));
  const SentenceSplitter splitter("en");
  const std::vector<TextSpan> spans = splitter.split(text);
  const std::vector<std::string> marks(spans.size(), "X");
  EXPECT_EQ(with_spans_replaced(text, spans, marks),
            "X\r\n\r\n  - X X\n\t* X\n12. X\n> X\n(a) X\n---\n42 %\n😀\n\n  X\nX  ");
  EXPECT_THAT(sentences("en", ""), IsEmpty());
  EXPECT_THAT(sentences("en", " \n... 1-2-3"), IsEmpty());
  EXPECT_THAT(sentences("en", "-5 degrees"), ElementsAre("-5 degrees"));
  EXPECT_THAT(sentences("en", "a"), ElementsAre("a"));
}

TEST(Sentences, AreSplitWhereItHurtsLeast) {
  EXPECT_THAT(sentences("en", "one two three four; five six, seven", at_most(25)),
              ElementsAre("one two three four;", "five six, seven"));
  EXPECT_THAT(sentences("en", "one two three, four five six", at_most(20)),
              ElementsAre("one two three,", "four five six"));
  EXPECT_THAT(sentences("en", "one two three four", at_most(9)), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(sentences("en", "abcdefghij", at_most(4)), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(sentences("zh", "天气很好，我们去公园", at_most(16)), ElementsAre("天气很好，", "我们去公园"));
  // A character of several code points is not divided.
  EXPECT_THAT(sentences("en", "ne\u0301e", at_most(1)), ElementsAre("n", "e\u0301", "e"));
}

TEST(Sentences, RandomTextsKeepTheirOrderAndTheLimit) {
  std::mt19937 random(1);
  const std::vector<std::string> parts{"a",     "Word", ". ", "! ", "\n", " ",  ", ",  "; ", "Dr.",
                                       "z. B.", "3.",   "中", "。", "ü",  "- ", "1) ", "😀",  "\u00a0"};
  const SentenceSplitter german("de"), english("en");
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 40; n > 0; --n) {
      text += parts[random() % parts.size()];
    }
    const auto most = static_cast<int64_t>(random() % 20 + 4);
    const std::vector<TextSpan> spans = (i % 2 == 0 ? german : english).split(text, at_most(most));
    size_t done = 0;
    std::vector<std::string> same;
    for (const TextSpan& span : spans) {
      ASSERT_LE(done, span.begin) << text;
      ASSERT_LT(span.begin, span.end) << text;
      ASSERT_LE(static_cast<int64_t>(span.size()), most) << text;
      ASSERT_EQ(span.in(text).find('\n'), std::string::npos) << text;
      same.emplace_back(span.in(text));
      done = span.end;
    }
    ASSERT_EQ(with_spans_replaced(text, spans, same), text);
  }
}

// What counts tokens sees each part of a text a few times, not all that follows it.
TEST(Sentences, LongTextWithoutSpacesTakesLinearTime) {
  const std::string text(200'000, 'a');
  int64_t seen = 0;
  const SentenceLimit limit{100, [&](std::string_view part) {
                              seen += static_cast<int64_t>(part.size());
                              return static_cast<int64_t>(part.size());
                            }};
  EXPECT_EQ(SentenceSplitter("en").split(text, limit).size(), 2000);
  EXPECT_LT(seen, 40 * static_cast<int64_t>(text.size()));
}

TEST(Sentences, RefuseWhatIsNotText) {
  EXPECT_THROW(sentences("en", "a\xff"), FormatError);
  EXPECT_THROW(sentences("en", "a", {5, {}}), ConfigError);
}

}  // namespace
}  // namespace heed
