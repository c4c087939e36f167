#include "text/html/html_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/errors.h"
#include "text/html/tag_nesting.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_html::tag_nesting;
using testing_html::TagOrder;

std::vector<std::string> texts(const std::string& html) { return HtmlText(html).texts(); }

// Pairs of words, "0-1 2-0", as spans of two texts.
std::vector<AlignedSpans> words_aligned(const std::string& source, const std::string& target,
                                        const std::string& pairs) {
  const auto words = [](const std::string& text) {
    std::vector<TextSpan> all;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size());
      all.push_back({at, end});
      at = end + 1;
    }
    return all;
  };
  const auto of_source = words(source), of_target = words(target);
  std::vector<AlignedSpans> all;
  std::istringstream input(pairs);
  size_t s = 0, t = 0;
  char dash = 0;
  while (input >> s >> dash >> t) {
    all.push_back({of_source.at(s), of_target.at(t)});
  }
  return all;
}

std::string translated(const std::string& html, const std::string& target, const std::string& pairs = "") {
  const HtmlText text(html);
  EXPECT_EQ(text.texts().size(), 1) << html;
  return text.with(std::vector<TranslatedText>{{target, words_aligned(text.texts().at(0), target, pairs)}});
}

TEST(HtmlText, BlocksAreTextsAndTagsWithinALineAreNot) {
  EXPECT_THAT(
      texts("<p>The <b>big <i>dog</i></b> barks.\n It <a href='x'>runs</a>.</p><ul><li>one<li>two</ul>three<br>four"),
      ElementsAre("The big dog barks. It runs.", "one", "two", "three", "four"));
  EXPECT_THAT(texts("plain &amp; simple &lt;tag&gt; caf&eacute; &#x263A;&nbsp;&copy 2020 R&D"),
              ElementsAre("plain & simple <tag> café ☺\u00a0© 2020 R&D"));
  EXPECT_THAT(texts("<x-card>custom <y>elements</y></x-card>"), ElementsAre("custom elements"));
  EXPECT_THAT(texts("<div><span>a</span><span>b</span></div>"), ElementsAre("ab"));
  EXPECT_THAT(texts("a < b and c<d"), ElementsAre("a < b and c"));
}

TEST(HtmlText, WhatIsNotTranslatedStaysAsItIs) {
  const std::string html =
      "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><style>p > b { color: red }</style>"
      "<script>if (a < b && c) { document.write('<p>no</p>') }</script></head><body>\n<!-- a <b>comment</b> -->"
      "<pre>  keep\n  me <b>too</b></pre><p>  12:30 &ndash; 14:00 </p><div translate=\"no\"><p>Not "
      "<i>this</i></p></div>"
      "<p class='x notranslate'>nor this</p><textarea>nor <b>this</textarea><svg><text>no</text></svg><img alt='no' "
      "src=a>"
      "</body></html>";
  const HtmlText text(html);
  EXPECT_THAT(text.texts(), IsEmpty());
  EXPECT_EQ(text.with({}), html);
}

TEST(HtmlText, SpacesAroundTextsStay) {
  EXPECT_EQ(translated("<div>\n  Hello\n  world \n</div>\n", "Hallo Welt"), "<div>\n  Hallo Welt \n</div>\n");
  EXPECT_EQ(translated(" Hello ", "Hallo"), " Hallo ");
}

TEST(HtmlText, ReferencesComeBackAsTheyWere) {
  EXPECT_EQ(translated("<p>caf&eacute; &#38; bar &mdash; R&D</p>", "Bar & café — R&D <3"),
            "<p>Bar &#38; caf&eacute; &mdash; R&#38;D &lt;3</p>");
  EXPECT_EQ(translated("a", "\u00a0<b>&"), "&nbsp;&lt;b&gt;&amp;");
  EXPECT_EQ(translated("one &unknown; word", "ein Wort"), "ein &unknown; Wort");
}

TEST(HtmlText, TagsFollowTheirWords) {
  EXPECT_EQ(translated("<p>The <b>dog</b> barks.</p>", "Der Hund bellt.", "0-0 1-1 2-2"),
            "<p>Der <b>Hund</b> bellt.</p>");
  EXPECT_EQ(
      translated("I have <b>seen</b> the <a href=\"d\">dog</a>.", "Ich habe den Hund gesehen.", "0-0 1-1 2-4 3-2 4-3"),
      "Ich habe den <a href=\"d\">Hund</a> <b>gesehen.</b>");
  EXPECT_EQ(translated("<b>Good morning</b>", "Guten Morgen"), "<b>Guten Morgen</b>");
  EXPECT_EQ(translated("A <b>very <i>big</i></b> dog", "Un perro muy grande", "0-0 1-2 2-3 3-1"),
            "Un perro <b>muy <i>grande</i></b>");
  // One word that is aligned wrongly does not spread an element over the whole text.
  EXPECT_EQ(translated("the <b>red house</b> over there is old", "das rote Haus dort ist alt",
                       "0-0 1-1 2-2 3-3 4-3 5-4 6-5 1-5 6-5"),
            "das <b>rote Haus</b> dort ist alt");
  // Parts of words take whole words along.
  const HtmlText door("front <b>door</b>");
  EXPECT_EQ(door.with(std::vector<TranslatedText>{{"die Tür", {{{6, 8}, {4, 6}}}}}), "die <b>Tür</b>");
}

TEST(HtmlText, WithoutAlignmentTagsStandInProportion) {
  EXPECT_EQ(translated("One <b>two</b> three", "Eins zwei drei"), "Eins <b>zwei</b> drei");
  EXPECT_EQ(translated("<i>今日</i>は雨です", "Il pleut aujourd'hui"), "<i>Il pleut</i> aujourd'hui");
}

TEST(HtmlText, MarksStandBetweenTheirWords) {
  EXPECT_EQ(translated("Hello <img src=a> world", "Hallo Welt", "0-0 1-1"), "Hallo <img src=a> Welt");
  EXPECT_EQ(translated("Hello<!-- x --> world", "Hallo Welt", "0-0 1-1"), "Hallo<!-- x --> Welt");
  EXPECT_EQ(translated("Press<br/>", "Drücken"), "Drücken<br/>");
  EXPECT_EQ(translated("super<wbr>long", "superlang"), "superlang<wbr>");
}

TEST(HtmlText, KeptWordsReplaceTheirTranslation) {
  EXPECT_EQ(translated("Run <code>ls -l</code> now", "Führe jetzt ls -l aus", "0-0 3-1"),
            "Führe jetzt <code>ls -l</code> aus");
  EXPECT_EQ(translated("We at <span translate=no>Red Apple</span> work", "Wir bei Roter Apfel arbeiten",
                       "0-0 1-1 2-2 3-3 4-4"),
            "Wir bei <span translate=no>Red Apple</span> arbeiten");
}

TEST(HtmlText, WhatIsNotClosedStaysAtTheEnd) {
  const auto with_words_aligned_with_nothing = [](const std::string& html) {
    return HtmlText(html).with(std::vector<TranslatedText>{{"läuft", {{{9, 12}, {0, 3}}}}});
  };
  for (const std::string end : {"<cs T", "<script>x", "<!-- x", "<a href=\"x>y"}) {
    EXPECT_EQ(with_words_aligned_with_nothing("<i>runs</i> " + end), "<i>läuft</i> " + end);
  }
}

TEST(HtmlText, TagsWithoutPartnerKeepTheirOrder) {
  EXPECT_EQ(translated("<b>one <i>two</b> three</i>", "eins zwei drei"), "<b>eins <i>zwei</b> drei</i>");
  const HtmlText across("<p>one <b>two</p><p>three</b> four</p>");
  EXPECT_THAT(across.texts(), ElementsAre("one two", "three four"));
  EXPECT_EQ(across.with(std::vector<TranslatedText>{{"eins zwei"}, {"drei vier"}}),
            "<p>eins <b>zwei</p><p>drei</b> vier</p>");
}

void expect_same_tags(const std::string& html, std::mt19937& random) {
  const std::vector<std::string> parts{"a", " ", "Wort ", "ls", "<", "&", "ü", "中", "\n", "code "};
  const HtmlText text(html);
  for (int i = 0; i < 3; ++i) {
    std::vector<TranslatedText> translations(text.texts().size());
    for (size_t n = 0; n < translations.size(); ++n) {
      for (size_t size = random() % 12; size > 0; --size) {
        translations[n].text += parts[random() % parts.size()];
      }
      for (size_t pairs = random() % 6; pairs > 0; --pairs) {
        const size_t s = random() % (text.texts()[n].size() + 2), t = random() % (translations[n].text.size() + 2);
        translations[n].alignment.push_back({{s, s + random() % 5}, {t, t + random() % 5}});
      }
    }
    const std::string output = text.with(translations);
    ASSERT_EQ(tag_nesting(output, TagOrder::sorted), tag_nesting(html, TagOrder::sorted)) << html << "\n" << output;
    ASSERT_EQ(HtmlText(output).texts().size() > text.texts().size(), false) << html << "\n" << output;
  }
}

TEST(HtmlText, TagsAreTheSameWhateverTheTranslation) {
  std::mt19937 random(4);
  const std::vector<std::string> parts{"<b>",
                                       "</b>",
                                       "<i class='a>b'>",
                                       "</i>",
                                       "<p>",
                                       "</p>",
                                       "word ",
                                       "two words",
                                       " ",
                                       "<br>",
                                       "<img>",
                                       "<!-- <b> -->",
                                       "<code>ls</code>",
                                       "<code>",
                                       "</code>",
                                       "&amp;",
                                       "&x;",
                                       "<a href=1>",
                                       "</a>",
                                       "<span translate=no>Code",
                                       "</span>",
                                       "中文",
                                       ". ",
                                       "<script>x<b></script>",
                                       "<",
                                       "<li>"};
  for (int i = 0; i < 5000; ++i) {
    std::string html;
    for (size_t n = random() % 16; n > 0; --n) {
      html += parts[random() % parts.size()];
    }
    expect_same_tags(html, random);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(HtmlText, DeepAndLargeTextsTakeLinearTime) {
  std::mt19937 random(5);
  std::string deep, wide = "x";
  for (int i = 0; i < 20'000; ++i) {
    deep += "<b>";
    wide += "<i>y</i> ";
  }
  expect_same_tags(deep + "word", random);
  expect_same_tags(wide, random);
  std::string closed = deep + "word";
  for (int i = 0; i < 20'000; ++i) {
    closed += "</b>";
  }
  const HtmlText text(closed);
  EXPECT_EQ(text.with(std::vector<TranslatedText>{{"word"}}), closed);
  EXPECT_THROW(HtmlText("a\xff"), FormatError);
}

}  // namespace
}  // namespace heed
