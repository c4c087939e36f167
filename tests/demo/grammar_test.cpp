#include "demo/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSmall = R"(
# A comment.
words noun {noun} base plural / base plural=+s / gender kinds =
  m person : Mann Männer / man men ; Freund +e / friend
  ; f thing : Uhr +en / clock ; m thing,big : Alter_Turm - / old_tower
words contraction {base} base short / base short = __ _ / __ _ ; _, , / _. . ; _. . / _? ? ; _in_dem_ _im_ / _a_o _an_o
say der = gender=f : die ; case=acc : den ; der
say noun = {der} {base} | the {base}
)";

std::string both(const std::string& rules, uint64_t seed = 1) {
  const Sentence sentence = Grammar(std::string(kSmall) + rules + "\n").expand("start", RandomKey{seed});
  return sentence.source + " = " + sentence.target;
}

// How often a rule says what, in 1,000 draws.
std::map<std::string, int> counts(const std::string& rules) {
  std::map<std::string, int> counts;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    ++counts[both(rules, seed)];
  }
  return counts;
}

TEST(GrammarTest, SaysWordsAndFormsOnBothSides) {
  EXPECT_EQ(both("draw start = n:noun[base=Freund] | {n} {n case=acc} {n.plural} | {n}, {n.plural}"),
            "Der Freund den Freund Freunde = The friend, friends");
  EXPECT_EQ(both("draw start = n:noun[base=Mann] | {n.plural} {n.kinds}"), "Männer person = Men person");
  EXPECT_EQ(both("draw start = n:noun[kinds=big] | {n.base} {n.plural}."), "Alter Turm. = Old tower old towers.");
}

TEST(GrammarTest, DrawsByWeightAmongWhatFits) {
  const auto weighed = counts("draw start = 3 : | eins ; 1 : | zwei ; 6 missing : | drei");
  EXPECT_EQ(weighed.size(), 2U);
  EXPECT_NEAR(weighed.at("Eins = Eins"), 750, 50);
  EXPECT_EQ(counts("draw start = missing : | eins ; !missing : | zwei ; | drei").at("Zwei = Zwei"), 1000);
  EXPECT_NEAR(counts("draw start = x=one 30%x=two | {x}").at("Two = Two"), 300, 50);
  EXPECT_EQ(counts("draw start = n:noun[kinds=thing !gender=f] | {n.base} | x").at("Alter Turm = X"), 1000);
}

TEST(GrammarTest, DrawsTheWholeSentenceAnewWhenNothingFits) {
  const auto drawn = counts("draw start = n:noun needs_person | {n.base} | x\ndraw needs_person = n.kinds=person : -");
  EXPECT_EQ(drawn.size(), 2U);
  EXPECT_NEAR(drawn.at("Mann = X"), 500, 60);
}

TEST(GrammarTest, KeepsWhatIsGivenAndSeesWhatIsAround) {
  const std::string rules = "draw inner = n:noun y=$x | {n.base} {y} {x} | -\n";
  EXPECT_EQ(both(rules + "draw start = x=outer i:inner[n:noun[gender=f]] | {i}"), "Uhr outer outer = -");
  EXPECT_EQ(both(rules + "draw start = x=outer i:inner[n:noun[gender=f] x=own] | {i} {i.x}"),
            "Uhr own own own = - own");
  EXPECT_EQ(both("draw phrase = head:noun[gender=f]\ndraw start = p:phrase k=gender | {p} {p.base} {p.@k}"),
            "Die Uhr Uhr f = The clock clock f");
}

TEST(GrammarTest, ChoosesWhatToSayByGuards) {
  const std::string rules = "say maybe = x=a,b : one ; !x=c,d x : two ; !x : none\nsay end = maybe : some ; nothing\n";
  EXPECT_EQ(both(rules + "draw start = x=b | {maybe} {end}"), "One some = One some");
  EXPECT_EQ(both(rules + "draw start = x=cat | {maybe} {end}"), "Two some = Two some");
  EXPECT_EQ(both(rules + "draw start = | {maybe} {end}"), "None some = None some");
  EXPECT_EQ(both(rules + "draw start = x=c | {maybe} {end}"), "Nothing = Nothing");
  EXPECT_EQ(both(rules + "draw start = x=c | {end x=a} {end}"), "Some nothing = Some nothing");
}

TEST(GrammarTest, JoinsContractsAndCapitalizes) {
  EXPECT_EQ(both("draw start = | in  dem Haus , in dem a .  | a owl a dog a owl ?"),
            "Im Haus, im a. = An owl a dog an owl?");
  EXPECT_EQ(both("draw start = | öl | x"), "Öl = X");
}

TEST(GrammarTest, TellsWhichWordsMeet) {
  const Grammar grammar(std::string(kSmall) + "draw start = n:noun[gender=f] n.base&n.gender n.base&missing | x\n");
  const Sentence sentence = grammar.expand("start", RandomKey{1});
  EXPECT_EQ(sentence.combinations, std::vector<Combination>({{"Uhr", "f"}}));
}

TEST(GrammarTest, RefusesWhatItCannotRead) {
  const auto refuses = [](const std::string& text, const std::string& part) {
    try {
      Grammar{text};
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  };
  refuses("draw\n", "expected a block, found 'draw");
  refuses("draws start = x\n", "expected a block, found 'draws start = x");
  refuses("  draw start = x\n", "expected a block, found '  draw start = x");
  refuses("words noun {base} base / base = Mann alt / man\n", "2 cells for 1 columns: 'Mann alt / man'");
  refuses("words noun {base} base / base = Mann\n", "0 cells for 1 columns: 'Mann'");
  EXPECT_THROW(Grammar("draw start = unknown\n").expand("start", RandomKey{1}), InternalError);
}

}  // namespace
}  // namespace heed
