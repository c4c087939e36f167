#include "interchange/marian/flat_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Body>
std::string message_of_yaml(Body&& body) {
  try {
    body();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_yaml(const std::string& text) {
  return message_of_yaml([&] { FlatYaml(text, "model.yml"); });
}

TEST(FlatYaml, ReadsWhatMarianWrites) {
  const FlatYaml yaml(
      "---\n"
      "# a comment\n"
      "type: transformer  # another\r\n"
      "mask: \"[MA\\\"SK]\"\n"
      "quoted: 'it''s: #1'\n"
      "version: v1.9.56 2020-01-01 00:00:00 +0100\n"
      "dim-emb: 512\n"
      "eps: 1e-06\n"
      "tied: true\n"
      "empty: \"\"\n"
      "null-one: ~\n"
      "none:\n"
      "dim-vocabs:\n"
      "  - 32000\n"
      "  - 31000\n"
      "vocabs:\n"
      "- a.spm\n"
      "- \"b c.spm\"\n"
      "flow: [1, 'two, 3', three four]\n"
      "nothing: []\n",
      "model.yml");
  EXPECT_EQ(yaml.text("type"), "transformer");
  EXPECT_EQ(yaml.text("mask"), "[MA\"SK]");
  EXPECT_EQ(yaml.text("quoted"), "it's: #1");
  EXPECT_EQ(yaml.text("version"), "v1.9.56 2020-01-01 00:00:00 +0100");
  EXPECT_EQ(yaml.integer("dim-emb"), 512);
  EXPECT_EQ(yaml.number("eps", 0), 1e-6);
  EXPECT_TRUE(yaml.flag("tied", false));
  EXPECT_EQ(yaml.text("empty", "x"), "");
  EXPECT_EQ(yaml.text("none", "x"), "x");
  EXPECT_EQ(yaml.text("absent", "x"), "x");
  EXPECT_THAT(yaml.integers("dim-vocabs"), ElementsAre(32000, 31000));
  EXPECT_THAT(yaml.texts("vocabs"), ElementsAre("a.spm", "b c.spm"));
  EXPECT_THAT(yaml.texts("flow"), ElementsAre("1", "two, 3", "three four"));
  EXPECT_THAT(yaml.texts("nothing"), IsEmpty());
  EXPECT_TRUE(yaml.has("none"));
}

TEST(FlatYaml, ValuesOfAnotherKindAreRefusedByKey) {
  const FlatYaml yaml("a: x\nb:\n  - 1\n", "model.yml");
  EXPECT_EQ(message_of_yaml([&] { yaml.integer("a"); }), "model.yml: 'a' is 'x', expected an integer");
  EXPECT_EQ(message_of_yaml([&] { yaml.flag("a", true); }), "model.yml: 'a' is 'x', expected true or false");
  EXPECT_EQ(message_of_yaml([&] { yaml.number("a", 1); }), "model.yml: 'a' is 'x', expected a number");
  EXPECT_EQ(message_of_yaml([&] { yaml.text("b"); }), "model.yml: 'b' is a list, expected one value");
  EXPECT_EQ(message_of_yaml([&] { yaml.integer("absent"); }), "model.yml: there is no 'absent'");
}

TEST(FlatYaml, WhatGoesBeyondIsRefusedWithItsLine) {
  EXPECT_THAT(refusal_of_yaml("a: 1\nb:\n  c: 2\n"), HasSubstr("model.yml: line 3: a value within a value"));
  EXPECT_THAT(refusal_of_yaml("a: &anchor 1\n"), HasSubstr("line 1: a value that begins with a special character"));
  EXPECT_THAT(refusal_of_yaml("a: !!python/object/apply:os.system x\n"), HasSubstr("special character"));
  EXPECT_THAT(refusal_of_yaml("a: |\n  text\n"), HasSubstr("special character"));
  EXPECT_THAT(refusal_of_yaml("a: {b: 1}\n"), HasSubstr("special character"));
  EXPECT_THAT(refusal_of_yaml("a: [[1]]\n"), HasSubstr("special character"));
  EXPECT_THAT(refusal_of_yaml("a: [1,\n 2]\n"), HasSubstr("a list that does not end in its line"));
  EXPECT_THAT(refusal_of_yaml("a: 'b\n"), HasSubstr("a text that does not end in its line"));
  EXPECT_THAT(refusal_of_yaml("a: 'b' c\n"), HasSubstr("more after a value"));
  EXPECT_THAT(refusal_of_yaml("a: \"\\x41\"\n"), HasSubstr("an escaped character"));
  EXPECT_THAT(refusal_of_yaml("a: \"\\"), HasSubstr("an escaped character"));
  EXPECT_THAT(refusal_of_yaml("a:\n  - - 1\n"), HasSubstr("a list or a mapping within a value"));
  EXPECT_THAT(refusal_of_yaml("a:\n  - b: 1\n"), HasSubstr("a key within a value"));
  EXPECT_THAT(refusal_of_yaml("- 1\n"), HasSubstr("an item that belongs to no key"));
  EXPECT_THAT(refusal_of_yaml("a: 1\n- 1\n"), HasSubstr("an item that belongs to no key"));
  EXPECT_THAT(refusal_of_yaml("\ta: 1\n"), HasSubstr("a tab"));
  EXPECT_THAT(refusal_of_yaml("just text\n"), HasSubstr("line 1: "));
  EXPECT_THAT(refusal_of_yaml("a:1\n"), HasSubstr("expected a space after ':'"));
  EXPECT_THAT(refusal_of_yaml("a: 1\na: 2\n"), HasSubstr("line 2: the key 'a' occurs twice"));
  EXPECT_THAT(refusal_of_yaml(std::string(2'000'000, ' ')), HasSubstr("2000000 bytes, expected up to 1048576"));
}

}  // namespace
}  // namespace heed
