// Templates from anyone: what they may not do, and what they may use up.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "text/chat/chat_template.h"
#include "text/chat/talk.h"

namespace heed {
namespace {

const Chat kGreeting = talk_of({{"user", "Hello"}, {"assistant", "Hi"}});

std::string refusal_of_template(const std::string& text, const ChatOptions& options = {}) {
  const std::clock_t begin = std::clock();
  std::string what = "nothing was refused";
  try {
    ChatTemplate::parse(text, "t.jinja").render(kGreeting, options);
  } catch (const FormatError& error) {
    what = error.what();
  }
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 20) << "seconds of processor time: " << text;
  return what;
}

void expect_refused_template(const std::string& text, const std::string& begin, const std::string& reason) {
  const std::string what = refusal_of_template(text);
  EXPECT_TRUE(what.starts_with(begin)) << text.substr(0, 200) << "\n" << what;
  EXPECT_NE(what.find(reason), std::string::npos) << text.substr(0, 200) << "\n" << what;
}

std::string repeated_text(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

TEST(ChatTemplateLimits, LoopsInLoopsEndAtTheLimitOfSteps) {
  const std::string loop = "{% for a in range(100000) %}";
  expect_refused_template("\n" + repeated_text(loop, 3) + "{% set b = a %}" + repeated_text("{% endfor %}", 3),
                          "t.jinja:2:", "5000000 steps");
  expect_refused_template("{% for a in range(100000) %}{% set x = messages * 10000 %}{% endfor %}",
                          "t.jinja:1:", "limit");
  expect_refused_template("{% for a in range(100000) %}{% for b in range(100000) if b < 0 %}{% endfor %}{% endfor %}",
                          "t.jinja:1:", "limit");
  expect_refused_template("{% for a in range(99999) %}{% set x = range(99999) | list | sort | tojson %}{% endfor %}",
                          "t.jinja:1:", "limit");
}

TEST(ChatTemplateLimits, RangesAreShort) {
  expect_refused_template("a\n{{ range(100001) }}", "t.jinja:2:", "100000");
  expect_refused_template("{{ range(-9223372036854775807, 9223372036854775807) }}", "t.jinja:1:", "100000");
  expect_refused_template("{{ range(9223372036854775807, -9223372036854775807, -1) }}", "t.jinja:1:", "100000");
}

TEST(ChatTemplateLimits, TextsThatGrowEndAtTheLimitOfBytes) {
  expect_refused_template(
      "{% set ns = namespace(x='abcdefgh') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      "t.jinja:1:", "268435456 bytes");
  expect_refused_template(
      "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "t.jinja:1:", "limit");
  expect_refused_template("{{ 'a' * 9223372036854775807 }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ [0] * 9223372036854775807 }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ ('a' * 1000000).replace('a', 'a' * 1000000) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ ('a' * 1000000) | replace('', 'b' * 1000000) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ ('a' * 1000000) | join('b' * 1000000) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ ('b' * 1000000).join('a' * 1000000) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ 'a'.center(9223372036854775807) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ 'a' | indent(9223372036854775807) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ ('\\n' * 10000) | indent(100000, true, true) }}", "t.jinja:1:", "limit");
  expect_refused_template("{{ messages | tojson(indent=1000000000) }}", "t.jinja:1:", "limit");
  expect_refused_template("{% set a = 'a' * 1000000 %}{% for i in range(99999) %}{{ a }}{% endfor %}",
                          "t.jinja:1:", "bytes");
  expect_refused_template(
      "{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x + [1] %}{% endfor %}",
      "t.jinja:1:", "limit");
}

TEST(ChatTemplateLimits, CharactersThatAreEscapedAreSteps) {
  expect_refused_template("{{ '' ~ ['\u00f6' * 6000000] }}", "t.jinja:1:", "5000000 steps");
  expect_refused_template("{{ ('\\t' * 6000000) | tojson }}", "t.jinja:1:", "5000000 steps");
}

// Where each byte of a text begins a long comparison.
TEST(ChatTemplateLimits, SearchesTakeAsLongAsTheTextNotAsItsProductWithThePart) {
  const std::string texts =
      "{% set text = 'a' * 3000000 %}{% set part = 'a' * 500000 ~ 'b' %}{% set last = 'b' ~ 'a' * 500000 %}";
  for (const auto& [search, expected] : std::vector<std::pair<std::string, std::string>>{
           {"part in text", "False"},
           {"text.find(part)", "-1"},
           {"text.rfind(last)", "-1"},
           {"text.count(part)", "0"},
           {"text.split(part) | length", "1"},
           {"text.rsplit(last) | length", "1"},
           {"text.replace(part, '') | length", "3000000"},
           {"text.partition(part)[0] | length", "3000000"},
           {"text.rpartition(last)[2] | length", "3000000"},
           {"text.rsplit('a' * 1200000)", "['" + std::string(600000, 'a') + "', '', '']"}}) {
    const std::clock_t begin = std::clock();
    EXPECT_EQ(ChatTemplate::parse(texts + "{{ " + search + " }}", "t.jinja").render(kGreeting, {}), expected);
    EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 20) << search;
  }
}

TEST(ChatTemplateLimits, ListsOfThemselvesAreWrittenOnlyAsFarAsTheLimit) {
  const std::string grow =
      "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  expect_refused_template(grow + "{{ ns.x }}", "t.jinja:1:", "limit");
  expect_refused_template(grow + "{{ ns.x | tojson }}", "t.jinja:1:", "limit");
  expect_refused_template(grow + "{% set y = [ns.x] %}{{ [ns.x] == ns.x * 1 or ns.x == ns.x[:] }}",
                          "t.jinja:1:", "limit");
  expect_refused_template("{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}",
                          "t.jinja:1:", "100 deep");
  expect_refused_template(
      "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
      "t.jinja:1:", "100 deep");
}

TEST(ChatTemplateLimits, MacrosThatCallThemselvesEndAtTheLimitOfDepth) {
  expect_refused_template("{% macro m(a) %}\n{{ m(a) }}{% endmacro %}{{ m(1) }}", "t.jinja:2:", "500 deep");
  expect_refused_template("{% macro m() %}{{ n() }}{% endmacro %}{% macro n() %}{{ m() }}{% endmacro %}{{ m() }}",
                          "t.jinja:1:", "500 deep");
  expect_refused_template("{% macro m() %}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}",
                          "t.jinja:1:", "500 deep");
  expect_refused_template("{% macro m(a=m()) %}{% endmacro %}{{ m() }}", "t.jinja:1:", "500 deep");
  expect_refused_template("{{ [[1]] | map('map', 'map', 'map', 'map', 'list') | list }}", "t.jinja:1:", "");
}

TEST(ChatTemplateLimits, ExpressionsAndStatementsAreNotDeep) {
  for (const auto& [open, inside, close] : std::vector<std::array<std::string, 3>>{{"(", "1", ")"},
                                                                                   {"[", "1", "]"},
                                                                                   {"{1:", "1", "}"},
                                                                                   {"-", "1", ""},
                                                                                   {"not ", "1", ""},
                                                                                   {"1+", "1", ""},
                                                                                   {"1 if 1 else ", "1", ""},
                                                                                   {"range(", "1", ")"},
                                                                                   {"a[", "1", "]"}}) {
    expect_refused_template("\n{{ " + repeated_text(open, 10000) + inside + repeated_text(close, 10000) + " }}",
                            "t.jinja:2:", "the limit");
  }
  expect_refused_template("{{ a" + repeated_text(".a", 10000) + " }}", "t.jinja:1:", "the limit");
  expect_refused_template("{{ a" + repeated_text("|trim", 10000) + " }}", "t.jinja:1:", "the limit");
  expect_refused_template(repeated_text("{% if 1 %}", 10000) + repeated_text("{% endif %}", 10000),
                          "t.jinja:1:", "the limit");
  expect_refused_template(repeated_text("{% for a in 'a' %}", 10000), "t.jinja:1:", "the limit");
  EXPECT_EQ(
      ChatTemplate::parse("{% if 0 %}" + repeated_text("{% elif 0 %}", 10000) + "{% endif %}", "t").render(kGreeting),
      "");
}

TEST(ChatTemplateLimits, TheTemplateItselfIsOfBoundedSize) {
  expect_refused_template(std::string((size_t{1} << 18) + 1, 'a'), "t.jinja:", "262144");
}

TEST(ChatTemplateLimits, NothingLeadsOutOfTheTemplate) {
  expect_refused_template("\n{{ ''.__class__ }}", "t.jinja:2:", "__class__");
  expect_refused_template("{{ messages.__init__.__globals__ }}", "t.jinja:1:", "__init__");
  EXPECT_EQ(ChatTemplate::parse("{{ ''['__class__'] }}{{ messages['__class__'] }}", "t").render(kGreeting), "");
  expect_refused_template("{{ ''['__class__']['__mro__'] }}", "t.jinja:1:", "undefined");
  expect_refused_template("{{ messages | map(attribute='__class__.__mro__') | list }}", "t.jinja:1:", "undefined");
  expect_refused_template("{{ '' | attr('__class__') }}", "t.jinja:1:", "filter 'attr'");
  expect_refused_template("{{ '{0.__class__}'.format(1) }}", "t.jinja:1:", "method 'format'");
  expect_refused_template("{{ '%s' % messages }}", "t.jinja:1:", "has no meaning");
  expect_refused_template("{{ '%99999999999d' | format(1) }}", "t.jinja:1:", "filter 'format'");
  expect_refused_template("{{ 'a'.encode() }}", "t.jinja:1:", "method 'encode'");
  for (const std::string name : {"cycler", "joiner", "lipsum", "self"}) {
    expect_refused_template("{{ " + name + " }}", "t.jinja:1:", "'" + name + "' is not known");
  }
  for (const std::string statement :
       {"include 'x'", "import 'x' as y", "extends 'x'", "block b", "autoescape true", "do x", "from 'x' import y"}) {
    expect_refused_template("\n\n{% " + statement + " %}", "t.jinja:3:", "is not known here");
  }
}

TEST(ChatTemplateLimits, WhatIsNotKnownIsNamedWithItsLineBeforeAnythingIsRendered) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"{% if false %}\n{{ 1 | nosuch }}{% endif %}", "the filter 'nosuch' is not known"},
           {"{% if false %}\n{{ 1 is nosuch }}{% endif %}", "the test 'nosuch' is not known"},
           {"{% if false %}\n{{ nosuch(1) }}{% endif %}", "the function 'nosuch' is not known"},
           {"{% if false %}\n{{ messages.nosuch(1) }}{% endif %}", "the method 'nosuch' is not known"}}) {
    try {
      ChatTemplate::parse(text, "t.jinja");
      ADD_FAILURE() << text;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.what(), "t.jinja:2: " + reason);
    }
  }
}

TEST(ChatTemplateLimits, ARefusalByTheTemplateIsOneLine) {
  EXPECT_EQ(refusal_of_template("{{ raise_exception('no\nway') }}"),
            "t.jinja:1: the template refuses these messages: no way");
  EXPECT_EQ(refusal_of_template("\n\n{{ messages[0].content.nosuch.x }}"),
            "t.jinja:3: 'str.nosuch' is undefined, so it has no 'x'");
  EXPECT_NE(refusal_of_template("{{ strftime_now('%Y') }}").find("no date was given"), std::string::npos);
}

TEST(ChatTemplateLimits, ATemplateThatIsNotTextIsRefused) {
  expect_refused_template("a\n\xff", "t.jinja:2", "not UTF-8");
  expect_refused_template(std::string("a\0b", 3), "t.jinja:1", "NUL");
}

}  // namespace
}  // namespace heed
