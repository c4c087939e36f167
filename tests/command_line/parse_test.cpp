#include "command_line/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/errors.h"

namespace heed::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::ThrowsMessage;

enum class Way : uint8_t { usual, other };

struct Values {
  std::string place = "here", first = "not shown", second;
  std::vector<std::string> each, many;
  int small = 3;
  int64_t large = 5;
  uint64_t seed = 7;
  double share = 0.5;
  std::optional<int64_t> limit;
  std::optional<double> rate;
  Way way = Way::usual;
  bool is_loud = false;
  int runs = 0;
};

class ParseTest : public testing::Test {
 protected:
  // heed show FIRST [SECOND] with an option of each kind, and heed group inner.
  Command program() {
    Values& v = values_;
    Command show{.name = "show",
                 .summary = "show it",
                 .options = joined(
                     {{required(option("FIRST", v.first, "a word")), option("SECOND", v.second, "a word")},
                      {option("--place DIR", v.place, "where"), option("--each TEXT", v.each, "texts"),
                       option("--many FILE...", v.many, "files"), option("--small N", v.small, "an int"),
                       option("--large N", v.large, "a long"), option("--seed N", v.seed, "a seed"),
                       formerly("--part", option("--share X", v.share, "a share")),
                       needing("--rate", option("--limit N", v.limit, "a limit")), option("--rate X", v.rate, "a rate"),
                       flag("--loud", v.is_loud, "loudly"), flag("--other", v.way, Way::other, "the other way")}}),
                 .run = [&v] { ++v.runs; },
                 .footer = "Example:\n  heed show this"};
    Command inner{.name = "inner", .summary = "within", .run = [&v] { v.runs += 10; }};
    Command group{.name = "group", .summary = "a group", .commands = {std::move(inner)}};
    return {.name = "heed", .summary = "does it", .commands = {std::move(show), std::move(group)}, .version = "1.2.3"};
  }

  void run(const std::vector<std::string>& words) {
    const Command heed = program();
    const Request request = parse(heed, words);
    EXPECT_EQ(request.text, "");
    request.run();
  }
  std::string text(const std::vector<std::string>& words) {
    const Command heed = program();
    const Request request = parse(heed, words);
    EXPECT_FALSE(request.run);
    return request.text;
  }
  void refuse(const std::vector<std::string>& words, const std::string& message) {
    EXPECT_THAT([&] { parse(program(), words); }, ThrowsMessage<ConfigError>(HasSubstr(message)));
  }

  Values values_;
};

TEST_F(ParseTest, ValuesReachTheirTargets) {
  run({"show",
       "--place",
       "there",
       "one",
       "--each",
       "a",
       "--each=b",
       "--small",
       "-4",
       "--large=9",
       "two",
       "--seed",
       "18446744073709551615",
       "--share",
       "-.25",
       "--limit",
       "6",
       "--rate",
       "1e-3",
       "--loud",
       "--other"});
  EXPECT_EQ(values_.place, "there");
  EXPECT_EQ(values_.first, "one");
  EXPECT_EQ(values_.second, "two");
  EXPECT_THAT(values_.each, ElementsAre("a", "b"));
  EXPECT_EQ(values_.small, -4);
  EXPECT_EQ(values_.large, 9);
  EXPECT_EQ(values_.seed, 18446744073709551615U);
  EXPECT_EQ(values_.share, -0.25);
  EXPECT_THAT(values_.limit, Optional(6));
  EXPECT_THAT(values_.rate, Optional(1e-3));
  EXPECT_TRUE(values_.is_loud);
  EXPECT_EQ(values_.way, Way::other);
  EXPECT_EQ(values_.runs, 1);
}

TEST_F(ParseTest, AnOldNameIsAcceptedButNeverShown) {
  run({"show", "one", "--part", "0.25"});
  EXPECT_EQ(values_.share, 0.25);
  EXPECT_THAT(text({"show", "--help"}), Not(HasSubstr("--part")));
  refuse({"show", "one", "--part", "x"}, "--share: 'x' is not a number");
  refuse({"show", "one", "--part", "1", "--share", "1"}, "--share is given twice");
  refuse({"show", "one", "--part"}, "--share: expected X, found nothing after it");
}

TEST_F(ParseTest, OptionsThatAreNotGivenKeepTheirDefaults) {
  run({"show", "one"});
  EXPECT_EQ(values_.place, "here");
  EXPECT_EQ(values_.small, 3);
  EXPECT_EQ(values_.limit, std::nullopt);
  EXPECT_EQ(values_.way, Way::usual);
}

TEST_F(ParseTest, AnOptionOfManyWordsEndsAtTheNextOption) {
  run({"show", "one", "--many", "a", "-", "c", "--loud"});
  EXPECT_THAT(values_.many, ElementsAre("a", "-", "c"));
  EXPECT_TRUE(values_.is_loud);
}

TEST_F(ParseTest, ADashAloneIsAWordAndSoIsEverythingAfterTwoDashes) {
  run({"show", "-", "--", "--loud"});
  EXPECT_EQ(values_.first, "-");
  EXPECT_EQ(values_.second, "--loud");
  EXPECT_FALSE(values_.is_loud);
  run({"show", "--", "--help"});
  EXPECT_EQ(values_.first, "--help");
}

TEST_F(ParseTest, AValueMayLookLikeAnOptionThatTheCommandDoesNotHave) {
  run({"show", "one", "--place", "--x", "--each=--loud", "--each="});
  EXPECT_EQ(values_.place, "--x");
  EXPECT_THAT(values_.each, ElementsAre("--loud", ""));
}

TEST_F(ParseTest, AValueMayHoldAnEqualsSignOrBeTheNameOfAWord) {
  run({"show", "one", "--each=a.b=c", "--each", "d=e", "--place", "FIRST"});
  EXPECT_THAT(values_.each, ElementsAre("a.b=c", "d=e"));
  EXPECT_EQ(values_.place, "FIRST");
}

TEST_F(ParseTest, ASubcommandIsFound) {
  run({"group", "inner"});
  EXPECT_EQ(values_.runs, 10);
}

TEST_F(ParseTest, HelpNamesEveryOptionWithItsDefaultAndEveryCommand) {
  const std::string shown = text({"show", "--loud", "--help"});
  EXPECT_THAT(shown, HasSubstr("heed show: show it\n\nUsage: heed show FIRST [SECOND] [OPTIONS]\n"));
  for (const char* line :
       {"  FIRST           a word (required)\n", "  --place DIR     where [here]\n",
        "  --each TEXT     texts (repeatable)\n", "  --many FILE...  files\n", "  --share X       a share [0.5]\n",
        "  --limit N       a limit\n", "  --loud          loudly\n", "\n\nExample:\n  heed show this\n"}) {
    EXPECT_THAT(shown, HasSubstr(line));
  }
  EXPECT_FALSE(values_.is_loud);
  EXPECT_THAT(text({}), HasSubstr("\nCommands:\n  show   show it\n  group  a group\n"));
  EXPECT_EQ(text({}), text({"-h"}));
  EXPECT_THAT(text({"group"}), HasSubstr("Usage: heed group COMMAND\n"));
  EXPECT_EQ(text({"--version"}), "1.2.3\n");
  refuse({"group", "--version"}, "group: there is no option '--version'");
}

TEST_F(ParseTest, HelpIsWrappedBesideTheNames) {
  std::string words = "word";
  for (int i = 1; i < 24; ++i) {
    words += " word";
  }
  Values values;
  const Command heed{.name = "heed",
                     .summary = "does it",
                     .options = {option("--short N", values.small, words),
                                 option("--a-name-of-far-more-than-thirty-letters N", values.large, "help")}};
  const std::string shown = parse(heed, std::vector<std::string>{"--help"}).text;
  std::string line = "  --short N  word";  // the first line has 100 columns at most
  for (int i = 1; i < 17; ++i) {
    line += " word";
  }
  EXPECT_THAT(shown, HasSubstr(line + "\n             word word"));
  EXPECT_THAT(shown, HasSubstr("\n  --a-name-of-far-more-than-thirty-letters N\n             help [5]\n"));
}

TEST_F(ParseTest, UnknownNamesGetTheNearestAndAll) {
  refuse({"shwo"}, "there is no command 'shwo', did you mean 'show'? (commands: show, group)");
  refuse({"--versoin"}, "there is no option '--versoin', did you mean '--version'? (options: --help, --version)");
  refuse({"group", "outer"}, "group: there is no command 'outer'");
  refuse({"show", "--palce=x"}, "show: there is no option '--palce', did you mean '--place'? (options: --place, ");
  refuse({"show", "FIRST=1", "x", "y"}, "show: 'y' is one word too many; usage: heed show FIRST [SECOND] [OPTIONS]");
}

TEST_F(ParseTest, ANameThatBeginsWithTheWordIsNearerThanOneThatLooksLikeIt) {
  refuse({"show", "--shar"}, "there is no option '--shar', did you mean '--share'?");
  refuse({"show", "--sha"}, "there is no option '--sha', did you mean '--share'?");
  refuse({"show", "--placement"}, "there is no option '--placement', did you mean '--place'?");
  refuse({"show", "--lou"}, "there is no option '--lou', did you mean '--loud'?");
  for (const char* const far : {"--temp", "--s", "--n-best", "--manifold-of-points"}) {
    refuse({"show", far}, fmt::format("there is no option '{}' (options: ", far));
  }
}

TEST_F(ParseTest, AnEmptyPathIsRefusedWithTheNameOfItsOption) {
  refuse({"show", "one", "--place", ""}, "--place: expected DIR, found an empty name");
  refuse({"show", "one", "--place="}, "--place: expected DIR, found an empty name");
  refuse({"show", "one", "--many", "a", ""}, "--many: expected FILE..., found an empty name");
  std::string recipe;
  const Command train{.name = "heed", .options = {option("RECIPE", recipe, "a recipe")}};
  EXPECT_THAT([&] { parse(train, std::vector<std::string>{""}); },
              ThrowsMessage<ConfigError>("RECIPE: expected RECIPE, found an empty name"));
}

TEST_F(ParseTest, AnOptionIsRefusedWithoutTheOneThatItNeeds) {
  refuse({"show", "one", "--limit", "6"}, "show: --limit needs --rate");
  run({"show", "one", "--limit", "6", "--rate", "1"});
  EXPECT_THAT(values_.limit, Optional(6));
}

TEST_F(ParseTest, AnOptionIsGivenOnceUnlessItIsAList) {
  refuse({"show", "--loud", "--loud"}, "show: --loud is given twice");
  refuse({"show", "--small", "3", "--small=3"}, "show: --small is given twice");
  refuse({"show", "--many", "a", "--many", "b"}, "show: --many is given twice");
}

TEST_F(ParseTest, MissingValuesAreRefused) {
  refuse({"show"}, "show: FIRST is missing; usage: heed show FIRST");
  refuse({"show", "one", "--place"}, "--place: expected DIR, found nothing after it");
  refuse({"show", "one", "--place", "--loud"}, "--place: expected DIR, found the option '--loud'");
  refuse({"show", "one", "--many", "--small=3"}, "--many: expected FILE..., found the option '--small=3'");
  refuse({"show", "one", "--loud=yes"}, "--loud: it takes no value, found 'yes'");
}

TEST_F(ParseTest, NumbersAreReadAsPeopleWriteThem) {
  refuse({"show", "--small="}, "--small: '' is not an integer");
  refuse({"show", "--small", "010"}, "--small: '010' begins with a zero");
  refuse({"show", "--small", "-01"}, "--small: '-01' begins with a zero");
  refuse({"show", "--small", "1.5"}, "--small: '1.5' is not an integer");
  refuse({"show", "--small", "+1"}, "--small: '+1' is not an integer");
  refuse({"show", "--small", "2147483648"}, "--small: '2147483648' is too large");
  refuse({"show", "--large", "9223372036854775808"}, "is too large");
  refuse({"show", "--seed", "-1"}, "--seed: '-1' is not an integer of 0 or more");
  for (const char* text : {"", "x", "1x", "nan", "inf", "1e999x"}) {
    refuse({"show", "--share", text}, "is not a number");
  }
  refuse({"show", "--share", "-1e999"}, "--share: '-1e999' is too large");
  refuse({"show", "--share", "1e-999"}, "--share: '1e-999' is too small");
  run({"show", "one", "--small", "0"});
  EXPECT_EQ(values_.small, 0);
}

}  // namespace
}  // namespace heed::cli
