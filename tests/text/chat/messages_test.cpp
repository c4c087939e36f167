#include "text/chat/messages.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "text/chat/chat_template.h"

namespace heed {
namespace {

std::string refusal_of_chat(const std::string& json) {
  try {
    parse_chat(json, "chats.jsonl:3");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(ChatMessages, AreReadInOrderWithAllTheirKeys) {
  const Chat chat = parse_chat(
      R"({"messages": [{"role": "critic", "content": "a", "mood": "bad"}, {"role": "assistant", "tool_calls": [{"x": 1.50}]},
          {"role": "assistant", "content": null}, {"role": "user", "content": [{"type": "text", "text": "b"}, {"type": "image"}]}],
          "tools": [{"z": 1, "a": [true, null, -3]}]})",
      "t");
  const ChatTemplate shown = ChatTemplate::parse("{{ messages }}{{ tools | tojson }}", "t");
  EXPECT_EQ(shown.render(chat),
            "[{'role': 'critic', 'content': 'a', 'mood': 'bad'}, {'role': 'assistant', 'tool_calls': [{'x': 1.5}]}, "
            "{'role': 'assistant', 'content': None}, {'role': 'user', 'content': [{'type': 'text', 'text': 'b'}, "
            "{'type': 'image'}]}][{\"z\": 1, \"a\": [true, null, -3]}]");
}

TEST(ChatMessages, WhatIsWrongIsNamedWithFileLineAndKey) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "not JSON at byte 1"},
      {"{\"messages\": [", "not JSON at byte 15"},
      {"{} x", "not JSON"},
      {"[]", "expected an object with \"messages\", found list"},
      {"{}", "no \"messages\""},
      {R"({"messages": []})", "\"messages\" is not a list, or empty"},
      {R"({"messages": {}})", "\"messages\" is not a list, or empty"},
      {R"({"messages": [1]})", "message 1 is int, expected an object"},
      {R"({"messages": [{"content": "a"}]})", "message 1 has no \"role\""},
      {R"({"messages": [{"role": "user", "content": "a"}, {"role": 1, "content": "a"}]})",
       "message 2: \"role\" is not a text, or empty"},
      {R"({"messages": [{"role": "", "content": "a"}]})", "message 1: \"role\" is not a text, or empty"},
      {R"({"messages": [{"role": "user"}]})", "message 1 has no \"content\""},
      {R"({"messages": [{"role": "user", "content": 1}]})",
       "message 1: \"content\" is int, expected a text or a list of parts"},
      {R"({"messages": [{"role": "user", "content": ["a"]}]})",
       "message 1: part 1 of \"content\" is not an object with a \"type\""},
      {R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})",
       "message 1: part 1 of \"content\" has the type \"text\" and no \"text\""},
      {R"({"messages": [{"role": "assistant", "tool_calls": 1}]})", "message 1: \"tool_calls\" is not a list"},
      {R"({"messages": [{"role": "user", "content": "a"}], "tools": 1})", "\"tools\" is not a list"},
      {R"({"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": []})",
       "\"chat_template_kwargs\" is not an object"},
      {R"({"messages": [{"role": "user", "content": "a"}], "mesages": 1})", "the key \"mesages\" is not known"},
      {R"({"messages": [{"role": "user", "role": "a", "content": "a"}]})",
       "the key \"role\" stands twice in one object"},
      {R"({"messages": [{"role": "user", "content": "a", "n": 99999999999999999999}]})",
       "is too large for a whole number"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}", "not JSON"},
      {R"({"messages": [{"role": "user", "content": "\ud800"}]})", "not JSON"},
      {std::string(1000, '['), "more than 100 deep"},
  };
  for (const auto& [json, reason] : cases) {
    const std::string what = refusal_of_chat(json);
    EXPECT_TRUE(what.starts_with("chats.jsonl:3: ")) << json << "\n" << what;
    EXPECT_NE(what.find(reason), std::string::npos) << json << "\n" << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace heed
