#include "demo/german_english.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/checksum.h"
#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;

// The grammar with phrases to put into clauses, and rules of the test's own.
Grammar with(const std::string& rules) {
  return Grammar(std::string(kGermanEnglishGrammar) + R"(
draw doctor = head:noun[base=Arzt] single det=the
draw man = head:noun[base=Mann] single det=the
draw girl = head:noun[base=Mädchen] single det=the
draw book = head:noun[base=Buch] single det=the
draw letter = head:noun[base=Brief] single det=a
draw park = head:noun[base=Park] single det=the
)" + rules + "\n");
}

// What a rule draws that has nothing to choose from, such as "p:doctor | {p} | {p}". Begins with a capital.
Sentence drawn(const std::string& actions_and_texts, const std::string& rules = "") {
  return with(rules + "\ndraw probe = " + actions_and_texts).expand("probe", RandomKey{1});
}

Sentence phrase(const std::string& actions, const std::string& texts) {
  return drawn("p:phrase | " + texts, "draw phrase = " + actions);
}

// The nominative, the accusative and the dative.
std::string cases(const std::string& actions) {
  return phrase(actions, "- {p}").source.substr(2) + "/" + phrase(actions, "- {p case=acc}").source.substr(2) + "/" +
         phrase(actions, "- {p case=dat}").source.substr(2);
}

std::string english(const std::string& actions) { return phrase(actions, "{p}").target; }

// A clause in the progressive, unless its actions say otherwise. `text` may choose the order of its words.
std::string clause(const std::string& subject, const std::string& actions, const std::string& text = "{c}") {
  const Sentence sentence = drawn("c:told | " + text, "draw told = text={clause} subject:" + subject +
                                                          " agr=$subject.agr tense=progressive " + actions);
  return sentence.source + " = " + sentence.target;
}

TEST(GermanNouns, AgreeInGenderAndCaseAfterDer) {
  EXPECT_EQ(cases("head:noun[base=Mann] single det=the adjective:adjective[base=alt]"),
            "der alte Mann/den alten Mann/dem alten Mann");
  EXPECT_EQ(cases("head:noun[base=Frau] single det=the adjective:adjective[base=alt]"),
            "die alte Frau/die alte Frau/der alten Frau");
  EXPECT_EQ(cases("head:noun[base=Kind] single det=the adjective:adjective[base=klug]"),
            "das kluge Kind/das kluge Kind/dem klugen Kind");
  EXPECT_EQ(cases("head:noun[base=Kind] plural det=the adjective:adjective[base=alt]"),
            "die alten Kinder/die alten Kinder/den alten Kindern");
  EXPECT_EQ(cases("head:noun[base=Stadt] single det=this"), "diese Stadt/diese Stadt/dieser Stadt");
  EXPECT_EQ(cases("head:noun[base=Gast] single det=every adjective:adjective[base=müde]"),
            "jeder müde Gast/jeden müden Gast/jedem müden Gast");
}

TEST(GermanNouns, AgreeAfterEinKeinMein) {
  EXPECT_EQ(cases("head:noun[base=Rock] single det=a adjective:adjective[base=teuer]"),
            "ein teurer Rock/einen teuren Rock/einem teuren Rock");
  EXPECT_EQ(cases("head:noun[base=Tasche] single det=a adjective:adjective[base=rot]"),
            "eine rote Tasche/eine rote Tasche/einer roten Tasche");
  EXPECT_EQ(cases("head:noun[base=Zimmer] single det=a adjective:adjective[base=dunkel]"),
            "ein dunkles Zimmer/ein dunkles Zimmer/einem dunklen Zimmer");
  EXPECT_EQ(cases("head:noun[base=Hemd] plural det=bare negative=yes adjective:adjective[base=neu]"),
            "keine neuen Hemden/keine neuen Hemden/keinen neuen Hemden");
  const std::string ours =
      "head:noun[base=Bruder] single det=my owner:pronoun[column=4] adjective:adjective[base=jung]";
  EXPECT_EQ(cases(ours), "unser junger Bruder/unseren jungen Bruder/unserem jungen Bruder");
  EXPECT_EQ(english(ours), "Our young brother");
}

TEST(GermanNouns, AgreeWithNothingBefore) {
  EXPECT_EQ(cases("head:noun[base=Brot] single det=bare adjective:adjective[base=frisch]"),
            "frisches Brot/frisches Brot/frischem Brot");
  EXPECT_EQ(cases("head:noun[base=Kaffee] single det=bare adjective:adjective[base=kalt]"),
            "kalter Kaffee/kalten Kaffee/kaltem Kaffee");
  EXPECT_EQ(cases("head:noun[base=Jacke] plural det=many number:number[base=zwei] adjective:adjective[base=rot]"),
            "zwei rote Jacken/zwei rote Jacken/zwei roten Jacken");
}

TEST(GermanNouns, HaveWeakEndingsWhereTheyShould) {
  EXPECT_EQ(cases("head:noun[base=Junge] single det=the"), "der Junge/den Jungen/dem Jungen");
  EXPECT_EQ(cases("head:noun[base=Student] single det=a"), "ein Student/einen Studenten/einem Studenten");
  EXPECT_EQ(cases("head:noun[base=Auto] plural det=the"), "die Autos/die Autos/den Autos");
}

TEST(EnglishNouns, TakeAOrAnByTheirSound) {
  EXPECT_EQ(english("head:noun[base=Apfel] single det=a"), "An apple");
  EXPECT_EQ(english("head:noun[base=Auto] single det=a adjective:adjective[base=rot]"), "A red car");
  EXPECT_EQ(english("head:noun[base=Auto] single det=a adjective:adjective[base=alt]"), "An old car");
  EXPECT_EQ(english("head:noun[base=Mann] plural det=this"), "These men");
  EXPECT_EQ(english("head:noun[base=Milch] single det=bare negative=yes"), "Any milk");
}

TEST(Prepositions, ContractAndGovernTheirCase) {
  const auto at = [](const std::string& actions, const std::string& texts) { return phrase(actions, texts).source; };
  EXPECT_EQ(at("head:noun[base=Garten] single det=the", "in {p case=dat}"), "Im Garten");
  EXPECT_EQ(at("head:noun[base=Museum] single det=the adjective:adjective[base=alt]", "in {p case=acc}"),
            "Ins alte Museum");
  EXPECT_EQ(at("head:noun[base=Stadt] single det=the", "in {p case=acc}"), "In die Stadt");
  EXPECT_EQ(at("head:noun[base=Park] single det=this", "in {p case=dat}"), "In diesem Park");
  EXPECT_EQ(at("head:noun[base=Tisch] plural det=the", "auf {p case=dat}"), "Auf den Tischen");
  EXPECT_EQ(drawn("what:w | {towards}", "draw w = head:noun[base=Bahnhof] single det=the").source, "Zum Bahnhof");
  EXPECT_EQ(drawn("what:w | {towards}", "draw w = head:noun[base=Schule] single det=the").source, "In die Schule");
}

TEST(Clauses, PutTheVerbSecondOrLast) {
  const std::string reads = "head:verb[stem=les] accusative:letter";
  EXPECT_EQ(clause("man", reads), "Der Mann liest einen Brief = The man is reading a letter");
  const std::string today = reads + " time:time[base=heute]";
  EXPECT_EQ(clause("man", today), "Der Mann liest heute einen Brief = The man is reading a letter today");
  EXPECT_EQ(clause("man", today + " front=yes"),
            "Heute liest der Mann einen Brief = Today the man is reading a letter");
  EXPECT_EQ(clause("man", today, "{c order=last}"),
            "Der Mann heute einen Brief liest = The man is reading a letter today");
  EXPECT_EQ(clause("man", today, "{c order=first}"),
            "Liest der Mann heute einen Brief = Is the man reading a letter today");
  EXPECT_EQ(clause("man", "head:verb[stem=les] time:time[base=heute]", "was {c order=first} | what {c order=first}"),
            "Was liest der Mann heute = What is the man reading today");
}

TEST(Clauses, SeparatePrefixesFromTheirVerbs) {
  const std::string i = "pronoun[column=1]", calls = "head:verb[stem=ruf] accusative:doctor ";
  EXPECT_EQ(clause(i, calls), "Ich rufe den Arzt an = I am calling the doctor");
  EXPECT_THAT(clause(i, calls, "{c order=last}"), HasSubstr("Ich den Arzt anrufe"));
  EXPECT_EQ(clause(i, calls, "um {c order=zu} | to {c order=zu}"), "Um den Arzt anzurufen = To call the doctor");
  const std::string must = calls + "tense=simple modal:modal[plural=müssen]", past = calls + "tense=past";
  EXPECT_EQ(clause(i, must), "Ich muss den Arzt anrufen = I have to call the doctor");
  EXPECT_THAT(clause(i, must, "{c order=last}"), HasSubstr("Ich den Arzt anrufen muss"));
  EXPECT_EQ(clause(i, past), "Ich habe den Arzt angerufen = I called the doctor");
  EXPECT_THAT(clause(i, past, "{c order=last}"), HasSubstr("Ich den Arzt angerufen habe"));
}

TEST(Clauses, TakeHabenOrSeinInThePerfect) {
  EXPECT_EQ(
      drawn("c:told | {c}",
            "draw told = text={clause} subject:pronoun[column=f] agr=third head:verb[stem=geh] tense=past place:to\n"
            "draw to = what:park | {towards} | to {what}")
          .source,
      "Sie ist in den Park gegangen");
  const std::string up = "head:verb[prefix=auf stem=steh] tense=past";
  EXPECT_EQ(clause("pronoun[column=4]", up), "Wir sind aufgestanden = We got up");
  EXPECT_THAT(clause("pronoun[column=4]", up, "{c order=first}"), HasSubstr("Did we get up"));
}

TEST(Clauses, NegateWithNichtAndKein) {
  const std::string you = "pronoun[column=2]", he = "pronoun[column=m]";
  const std::string no_letter = "head:verb[stem=kauf] negative=yes accusative:letter ";
  const std::string not_the = "head:verb[stem=kauf] negative=yes accusative:book ";
  EXPECT_EQ(clause(you, no_letter), "Du kaufst keinen Brief = You are not buying a letter");
  EXPECT_EQ(clause(you, not_the), "Du kaufst das Buch nicht = You are not buying the book");
  EXPECT_EQ(clause(you, not_the + "tense=past"), "Du hast das Buch nicht gekauft = You did not buy the book");
  const std::string modal = not_the + "tense=simple modal:modal";
  EXPECT_EQ(clause(you, modal + "[plural=können]"), "Du kannst das Buch nicht kaufen = You cannot buy the book");
  EXPECT_EQ(clause(you, modal + "[plural=dürfen]"),
            "Du darfst das Buch nicht kaufen = You are not allowed to buy the book");
  EXPECT_EQ(clause(he, modal + "[plural=wollen]"), "Er will das Buch nicht kaufen = He does not want to buy the book");
}

TEST(Clauses, OrderTheirObjects) {
  const std::string objects = " dative:girl accusative:book time:time[base=morgen] tense=future";
  EXPECT_EQ(clause("man", "head:verb[stem=geb]" + objects),
            "Der Mann gibt dem Mädchen morgen das Buch = The man will give the girl the book tomorrow");
  EXPECT_THAT(clause("man", "head:verb[stem=erklär]" + objects),
              HasSubstr("The man will explain the book to the girl tomorrow"));
  EXPECT_EQ(clause("pronoun[column=p]", "head:verb[stem=such] accusative:book time:time[base=oft] tense=simple"),
            "Sie suchen das Buch oft = They often look for the book");
}

TEST(Clauses, CompareTwoNouns) {
  const std::string fast = "predicate:adjective[base=schnell] tense=simple";
  EXPECT_EQ(clause("man", fast), "Der Mann ist schnell = The man is fast");
  EXPECT_EQ(clause("man", fast + " than:girl"),
            "Der Mann ist schneller als das Mädchen = The man is faster than the girl");
}

TEST(GermanEnglish, IsTheSameEveryTime) {
  const auto once = german_english_corpus(Split::training, 500);
  EXPECT_EQ(once, german_english_corpus(Split::training, 500));
  EXPECT_NE(once, german_english_corpus(Split::training, 500, 2));
  const auto more = german_english_corpus(Split::training, 800);
  EXPECT_TRUE(std::equal(once.begin(), once.end(), more.begin())) << "a longer corpus begins with the shorter one";
  EXPECT_TRUE(german_english_corpus(Split::test, 0).empty());
}

// Draws in the arguments of one call would come in whatever order the compiler evaluates them.
TEST(GermanEnglish, IsTheSameWhateverCompilesIt) {
  Checksum all;
  for (const Sentence& sentence : german_english_corpus(Split::training, 500)) {
    const std::string line = sentence.source + "\t" + sentence.target + "\n";
    all.add(std::as_bytes(std::span(line)));
  }
  EXPECT_EQ(all.text(), "4fbf044a9829ac2d");
}

TEST(GermanEnglish, RefusesImpossibleSizes) {
  EXPECT_THROW(german_english_corpus(Split::training, -1), ConfigError);
  EXPECT_THROW(german_english_corpus(Split::test, kMaxGermanEnglishPairs + 1), ConfigError);
}

}  // namespace
}  // namespace heed
