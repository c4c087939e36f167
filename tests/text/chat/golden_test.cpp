// Templates give what Jinja gives: golden.json, made by make_golden.py.
#include <gtest/gtest.h>

#include <chrono>

#include "base/system/files.h"
#include "source_root.h"
#include "text/chat/chat_template.h"
#include "text/chat/template/values/json.h"

namespace heed {
namespace {

using chat::Value;
using namespace std::chrono;

const Value& at(const Value& value, std::string_view key) {
  return value.dict()->items[value.dict()->texts.at(key)].second;
}
bool has(const Value& value, std::string_view key) { return value.dict()->texts.contains(key); }

// The date of make_golden.py.
const std::optional<local_seconds> kGoldenNow = local_days(2025y / March / 7) + hours(15) + minutes(4) + seconds(5);

const Value& golden() {
  static const Value kGolden = [] {
    const auto path = test::source_root() / "tests" / "text" / "chat" / "golden.json";
    return chat::parse_json(read_file(path), path.string());
  }();
  return kGolden;
}

std::vector<chat::Variable> variables_of(const Value& values) {
  std::vector<chat::Variable> variables;
  for (const auto& [name, value] : values.dict()->items) {
    variables.push_back({*name.text(), value});
  }
  return variables;
}

// What the template writes, or "refused: " and why.
std::string outcome(const std::string& text, const Value& values) {
  try {
    const chat::Program program = chat::parse_program(text, "template");
    return chat::run_program(program, "template", variables_of(values), kGoldenNow).text;
  } catch (const FormatError& error) {
    return std::string("refused: ") + error.what();
  }
}

void expect_outcome(const Value& expected, const std::string& found, const std::string& what) {
  if (has(expected, "output")) {
    EXPECT_EQ(found, *at(expected, "output").text()) << what;
  } else {
    EXPECT_TRUE(found.starts_with("refused: template:"))
        << what << "\nJinja says " << *at(expected, "error").text() << "\nand here it gives " << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  }
}

TEST(ChatTemplateGolden, EveryConstructGivesWhatJinjaGives) {
  for (const Value& one : at(golden(), "cases").list()->items) {
    const std::string& text = *at(one, "template").text();
    expect_outcome(one, outcome(text, at(golden(), "values")), *at(one, "group").text() + ": " + text);
  }
}

TEST(ChatTemplateGolden, TemplatesInTheFormsOfKnownModelsGiveWhatJinjaGives) {
  const std::vector<Value>& conversations = at(golden(), "conversations").list()->items;
  ASSERT_GE(at(golden(), "families").dict()->items.size(), 12U);
  for (const auto& [name, outcomes] : at(golden(), "families").dict()->items) {
    const auto path = test::source_root() / "tests" / "text" / "chat" / "templates" / (*name.text() + ".jinja");
    const std::string text = read_file(path);
    ASSERT_EQ(outcomes.list()->items.size(), conversations.size());
    for (size_t i = 0; i < conversations.size(); ++i) {
      expect_outcome(outcomes.list()->items[i], outcome(text, at(conversations[i], "values")),
                     *name.text() + ", conversation " + *at(conversations[i], "name").text());
    }
  }
}

}  // namespace
}  // namespace heed
