#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Colour : uint8_t { red, green };
enum class Light : uint8_t { off, on };

struct Sample {
  int64_t count = 1;
  double rate = 0.5;
  bool loud = false;
  std::string name = "x";
  std::vector<std::string> files;
  Colour colour = Colour::red;
  Light light = Light::off;

  std::array<SettingTable, 1> tables() {
    return {
        {{"sample",
          {setting("count", count), setting("rate", rate), setting("loud", loud), setting("name", name),
           setting("files", files), choice<Colour>("colour", colour, {{"red", Colour::red}, {"green", Colour::green}}),
           flag("light", light, Light::off, Light::on)}}}};
  }
};

template <class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Settings, CanBeReadAgainAfterBeingShown) {
  Sample sample;
  EXPECT_THAT(read_settings("description = 'd'\n[sample]\ncount = 7\nrate = 2\nloud = true\nname = 'a\"b'\n"
                            "files = ['p', 'q,r']\ncolour = 'green'\nlight = true\n",
                            "r.toml", sample.tables()),
              ElementsAre("sample"));
  EXPECT_EQ(sample.count, 7);
  EXPECT_EQ(sample.rate, 2.0);
  EXPECT_TRUE(sample.loud);
  EXPECT_EQ(sample.name, "a\"b");
  EXPECT_THAT(sample.files, ElementsAre("p", "q,r"));
  EXPECT_EQ(sample.colour, Colour::green);
  EXPECT_EQ(sample.light, Light::on);
  Sample again;
  read_settings(to_toml(sample.tables()), "shown", again.tables());
  EXPECT_EQ(to_toml(again.tables()), to_toml(sample.tables()));
  EXPECT_EQ(again.name, "a\"b");
}

TEST(Settings, AreOverridden) {
  Sample sample;
  const auto tables = sample.tables();
  for (const char* assignment :
       {"sample.count=3", "sample.rate=1e-4", "sample.loud=true", "sample.name=plain words", "sample.colour=green"}) {
    override_setting(assignment, tables);
  }
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.rate, 1e-4);
  EXPECT_EQ(sample.name, "plain words");
  EXPECT_EQ(sample.colour, Colour::green);
  override_setting("sample.name=12", tables);
  EXPECT_EQ(sample.name, "12");
  override_setting("sample.name=\"quoted\"", tables);
  EXPECT_EQ(sample.name, "quoted");
  override_setting("sample.files=a.de,b.de", tables);
  EXPECT_THAT(sample.files, ElementsAre("a.de", "b.de"));
  override_setting("sample.files=['c,d']", tables);
  EXPECT_THAT(sample.files, ElementsAre("c,d"));
  override_setting("sample.files=", tables);
  EXPECT_THAT(sample.files, ElementsAre());
}

struct Several {
  std::vector<int64_t> counts{1};
  std::vector<double> rates{0.5};

  std::array<SettingTable, 1> tables() {
    const auto set = [](auto& values) {
      return [&values](const std::string&, const SettingValue& found) {
        values = std::get<std::decay_t<decltype(values)>>(found);
      };
    };
    return {{{"sample",
              {{"counts", SettingType::integers, set(counts), [this] { return as_toml(counts); }, "", ""},
               {"rates", SettingType::numbers, set(rates), [this] { return as_toml(rates); }, "", ""}}}}};
  }
};

TEST(Settings, OneNumberOrAListOfThem) {
  Several several;
  const auto tables = several.tables();
  EXPECT_EQ(to_toml(tables), "[sample]\ncounts = 1\nrates = 0.5\n");
  read_settings("[sample]\ncounts = [3, 4]\nrates = [1, 2.5]\n", "r.toml", tables);
  EXPECT_THAT(several.counts, ElementsAre(3, 4));
  EXPECT_THAT(several.rates, ElementsAre(1.0, 2.5));
  EXPECT_EQ(to_toml(tables), "[sample]\ncounts = [3, 4]\nrates = [1.0, 2.5]\n");
  override_setting("sample.counts=7", tables);
  override_setting("sample.rates=1e4,0", tables);
  EXPECT_THAT(several.counts, ElementsAre(7));
  EXPECT_THAT(several.rates, ElementsAre(1e4, 0.0));
  override_setting("sample.counts=[8,9]", tables);
  EXPECT_THAT(several.counts, ElementsAre(8, 9));
  EXPECT_THAT(message_of([&] { override_setting("sample.counts=8,x", tables); }),
              HasSubstr("counts is '8,x', but must be an integer or a list of integers"));
  EXPECT_THAT(message_of([&] { read_settings("[sample]\nrates = [1, nan]\n", "r", tables); }),
              HasSubstr("expected a finite number"));
}

TEST(Settings, ErrorsNameTheLineAndTheValidValues) {
  Sample sample;
  const auto read = [&](std::string_view text) {
    return message_of([&] { read_settings(text, "r.toml", sample.tables()); });
  };
  EXPECT_EQ(read("[sample]\ncuont = 1"), "r.toml:2: unknown key 'cuont', did you mean 'count'?");
  EXPECT_EQ(read("\n[sampel]\n"), "r.toml:2: unknown key 'sampel', did you mean 'sample'?");
  EXPECT_EQ(read("[zzz]\n"), "r.toml:1: unknown key 'zzz', expected one of sample");
  EXPECT_EQ(read("sample = 3"), "r.toml:1: sample must be a table, [sample]");
  EXPECT_EQ(read("[sample]\ncount = 1.5"), "r.toml:2: count must be an integer");
  EXPECT_EQ(read("[sample]\nfiles = ['a', 1]"), "r.toml:2: files must be a list of texts");
  EXPECT_EQ(read("[sample]\ncolour = 'blue'"), "r.toml:2: colour: 'blue' is not one of red, green");
  EXPECT_THAT(read("[sample\n"), HasSubstr("r.toml:1: "));
  std::string dotted = "a";
  for (int i = 0; i < 200'000; ++i) {
    dotted += ".a";
  }
  EXPECT_EQ(read("\n" + dotted + " = 1"), "r.toml:2: more than 1000 dots in one name or value");
  EXPECT_THAT(read("[" + dotted + "]"), HasSubstr("more than 1000 dots"));
  EXPECT_THAT(read("[sample]\nname = {" + dotted + " = 1}"), HasSubstr("more than 1000 dots"));
  const auto assign = [&](std::string_view text) {
    return message_of([&] { override_setting(text, sample.tables()); });
  };
  EXPECT_EQ(assign("sample.cuont=1"), "--set sample.cuont=1: unknown key 'cuont', did you mean 'count'?");
  EXPECT_EQ(assign("count=1"), "--set count=1: expected table.key=value");
  EXPECT_EQ(assign("sample.count=many"), "--set sample.count=many: count is 'many', but must be an integer");
  EXPECT_EQ(assign("sample.count=-99999999999999999999"),
            "--set sample.count=-99999999999999999999: count is '-99999999999999999999', which is too large");
  EXPECT_EQ(assign("sample.rate=1e999"), "--set sample.rate=1e999: rate is '1e999', which is too large");
  EXPECT_EQ(assign("sample.count="), "--set sample.count=: count is '', but must be an integer");
  EXPECT_EQ(assign("sample.files=['a', 1]"),
            "--set sample.files=['a', 1]: files is '['a', 1]', which is not a list: [\"a\", \"b\"], or a,b");
  EXPECT_EQ(assign("sample.files=['a'"),
            "--set sample.files=['a': files is '['a'', which is not a list: [\"a\", \"b\"], or a,b");
  EXPECT_THAT(assign("sample.name=" + std::string(1001, '.')), HasSubstr("more than 1000 dots"));
  EXPECT_THAT(assign("sample.name=\xff"), HasSubstr("is not UTF-8"));
  EXPECT_EQ(assign("sample.rate=inf"), "--set sample.rate=inf: rate is inf, expected a finite number");
  EXPECT_EQ(assign("sample.loud=1"), "--set sample.loud=1: loud must be true or false");
  EXPECT_EQ(assign("sample.count=1\nrate = 2"),
            "--set sample.count=1\nrate = 2: count is '1\nrate = 2', but must be an integer");
}

TEST(Settings, AKeyOfAnotherTaskIsRefusedNamingTheTask) {
  Sample sample;
  auto tables = sample.tables();
  tables.front().foreign.push_back({"pairs", "a key of the task translation"});
  EXPECT_EQ(message_of([&] { override_setting("sample.pairs=1", tables); }),
            "--set sample.pairs=1: 'pairs' is a key of the task translation");
  EXPECT_EQ(message_of([&] { read_settings("[sample]\npairs = 1", "r.toml", tables); }),
            "r.toml:2: 'pairs' is a key of the task translation");
}

TEST(Settings, KnownKeysCanBeReadBeforeTheRest) {
  Sample sample;
  const auto tables = sample.tables();
  read_known_settings("[sample]\ncount = 7\nother = 'x'\n[unknown]\nkey = 1", "r.toml", tables);
  EXPECT_EQ(sample.count, 7);
  override_known_setting("sample.count=8", tables);
  override_known_setting("unknown.key=1", tables);
  EXPECT_EQ(sample.count, 8);
  EXPECT_EQ(message_of([&] { override_known_setting("sample.count=x", tables); }),
            "--set sample.count=x: count is 'x', but must be an integer");
}

TEST(Settings, AFormerNameIsStillReadAndTheNewOneShown) {
  int64_t length = 0;
  const std::vector<SettingTable> tables{{"sample", {formerly("longest", setting("max_length", length))}, {}}};
  read_settings("[sample]\nlongest = 3", "r.toml", tables);
  EXPECT_EQ(length, 3);
  override_setting("sample.longest=4", tables);
  EXPECT_EQ(length, 4);
  EXPECT_EQ(to_toml(tables), "[sample]\nmax_length = 4\n");
  EXPECT_EQ(message_of([&] { read_settings("[sample]\nlongest = 3\nmax_length = 4", "r.toml", tables); }),
            "r.toml:3: max_length is set twice, once as longest");
}

}  // namespace
}  // namespace heed
