#include "propose/text_figures.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(FiguresOfText, CountLinesWordsAndTypes) {
  const TextFigures figures = figures_of({"ein  Hund läuft", "", "ein Mann", " \t"});
  EXPECT_EQ(figures.lines, 4);
  EXPECT_EQ(figures.blank, 2);
  EXPECT_EQ(figures.words, 5);
  EXPECT_EQ(figures.types, 4);
  EXPECT_TRUE(figures.has_capitals);
  EXPECT_FALSE(figures_of({"ein hund"}).has_capitals);
}

TEST(FiguresOfText, NamePairsThatMayNotBeTranslations) {
  const PairFigures figures =
      figures_of_pairs({"a", "Berlin", "a", "one", ""}, {"b", "Berlin", "b", "1 2 3 4 5 6 7 8 9", "c"});
  EXPECT_EQ(figures.blank, 1);
  EXPECT_EQ(figures.same, 1);
  EXPECT_EQ(figures.uneven, 1);
  EXPECT_EQ(figures.doubled, 1);
}

TEST(FiguresOfText, FindLinesOfOneTextInAnother) { EXPECT_EQ(count_shared({"a", "b", "", "c"}, {"c", "a", ""}), 2); }

TEST(FiguresOfText, TellTheShareOfWordsThatAnotherTextHas) {
  EXPECT_DOUBLE_EQ(share_of_words({"a Berlin dog", "a"}, {"Berlin", "ein  a"}), 0.75);
  EXPECT_EQ(share_of_words({"", " "}, {"a"}), 0.0);
}

Lines sentences(int count) {
  const std::vector<std::string> nouns{"dog", "cat", "man", "woman", "boy", "girl", "bird", "horse", "farmer", "child"},
      verbs{"sees", "hears", "likes", "follows", "calls", "finds", "helps", "knows"};
  Lines lines;
  for (int i = 0; i < count; ++i) {
    lines.push_back("the " + nouns[static_cast<size_t>(i) % 10] + " " + verbs[static_cast<size_t>(i / 10) % 8] + " a " +
                    nouns[static_cast<size_t>(i / 80) % 10]);
  }
  return lines;
}

// The more text there is, the more subwords occur often enough.
TEST(Vocabularies, GrowWithTheText) {
  const Lines few = sentences(300), many = sentences(8000);
  const SubwordFigures small = choose_vocabulary({&few}, {}).back(), large = choose_vocabulary({&many}, {}).back();
  EXPECT_LE(small.vocabulary, large.vocabulary);
  EXPECT_GE(large.median, 50);
  EXPECT_GE(large.tenth, 20);
  EXPECT_GE(count_tokens({&few}, {}, small.vocabulary).front(), 5.0 * 300.0) << "four words and the end";
}

}  // namespace
}  // namespace heed
