// What templates are given, and where the assistant's words lie in what they write.
#include <gtest/gtest.h>

#include "base/system/files.h"
#include "source_root.h"
#include "text/chat/chat_template.h"
#include "text/chat/talk.h"
#include "text/chat/template/values/json.h"

namespace heed {
namespace {

ChatTemplate known_template(const std::string& name) {
  const auto path = test::source_root() / "tests" / "text" / "chat" / "templates" / (name + ".jinja");
  return ChatTemplate::parse(read_file(path), path.filename().string());
}

const Chat kTalk =
    talk_of({{"system", "Be brief."}, {"user", "One?"}, {"assistant", "Two."}, {"user", "Three?"}, {"assistant", "4"}});

std::vector<std::string> assistant_parts(const ChatSpans& spans) {
  std::vector<std::string> parts;
  for (const ChatSpan& span : spans.assistant) {
    parts.push_back(spans.text.substr(span.begin, span.end - span.begin));
  }
  return parts;
}

using Parts = std::vector<std::string>;

TEST(ChatTemplate, RendersUpToTheAnswerOrAfterTheLastMessage) {
  const ChatTemplate chatml = known_template("chatml");
  const Chat question = talk_of({{"user", "Hi"}});
  EXPECT_EQ(chatml.render(question), "<|im_start|>user\nHi<|im_end|>\n");
  EXPECT_EQ(chatml.render(question, {.end = ChatOptions::End::before_answer}),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, SeesTokensToolsAndFurtherNames) {
  const ChatTemplate shown = ChatTemplate::parse(
      "{{ bos_token }}{{ eos_token is defined }}{{ tools is none }}{{ documents is none }}{{ add_generation_prompt "
      "}}{{ a }}{{ b }}",
      "t");
  EXPECT_EQ(shown.render(kTalk, {.bos_token = "<s>"}), "<s>FalseTrueTrueFalse");
  Chat chat = parse_chat(
      R"({"messages": [{"role": "user", "content": "x"}], "tools": [], "chat_template_kwargs": {"a": 1}})", "t");
  EXPECT_EQ(shown.render(chat, {.variables = {{"a", int64_t{5}}, {"b", chat::constant("B")}}}),
            "FalseFalseTrueFalse1B");
}

TEST(ChatTemplate, CanBeUsedByAnyNumberOfTexts) {
  const ChatTemplate twice =
      ChatTemplate::parse("{% set g = [1, 2] | map('string') %}{{ g | join }}{{ messages | length }}", "t");
  EXPECT_EQ(twice.render(kTalk), "125");
  EXPECT_EQ(twice.render(kTalk), "125");
}

TEST(ChatTemplate, GenerationBlocksTellWhatTheAssistantSaid) {
  const ChatSpans spans = known_template("smollm").assistant_spans(kTalk);
  EXPECT_EQ(assistant_parts(spans), (Parts{"Two.<|im_end|>\n\n", "4<|im_end|>\n\n"}));
  EXPECT_EQ(spans.text, known_template("smollm").render(kTalk));
}

TEST(ChatTemplate, GenerationBlocksWhosePlaceIsNotKnownAreRefused) {
  const ChatTemplate hidden =
      ChatTemplate::parse("{% set x %}{% generation %}a{% endgeneration %}{% endset %}{{ x }}", "t.jinja");
  EXPECT_EQ(hidden.render(kTalk), "a");
  EXPECT_THROW(hidden.assistant_spans(kTalk), FormatError);
}

TEST(ChatTemplate, WithoutBlocksBeginningsOfTheConversationTellIt) {
  EXPECT_EQ(assistant_parts(known_template("chatml").assistant_spans(kTalk)),
            (Parts{"Two.<|im_end|>\n", "4<|im_end|>\n"}));
  EXPECT_EQ(assistant_parts(known_template("llama3").assistant_spans(kTalk, {.bos_token = "<s>"})),
            (Parts{"Two.<|eot_id|>", "4<|eot_id|>"}));
  EXPECT_EQ(assistant_parts(known_template("llama2").assistant_spans(kTalk, {.bos_token = "<s>", .eos_token = "</s>"})),
            (Parts{" Two. </s>", " 4 </s>"}));
  EXPECT_EQ(assistant_parts(known_template("gemma").assistant_spans(kTalk, {.bos_token = "<s>"})),
            (Parts{"Two.<end_of_turn>\n", "4<end_of_turn>\n"}));
  // What stands behind the last message alone belongs to it, and not to those before.
  EXPECT_EQ(assistant_parts(known_template("phi3").assistant_spans(kTalk, {.eos_token = "<|endoftext|>"})),
            (Parts{"Two.<|end|>\n", "4<|end|>\n<|endoftext|>"}));
}

TEST(ChatTemplate, AnAnswerThatIsWrittenDifferentlyLaterIsRefusedWithItsNumber) {
  const Chat thoughtful =
      talk_of({{"user", "a"}, {"assistant", "<think>\nb\n</think>\n\nc"}, {"user", "d"}, {"assistant", "e"}});
  try {
    known_template("qwen3_thinking").assistant_spans(thoughtful);
    ADD_FAILURE();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("message 2"), std::string::npos) << error.what();
  }
}

TEST(ChatTemplate, TextsOfAllKindsKeepTheirBytes) {
  const ChatTemplate plain = ChatTemplate::parse("{% for m in messages %}{{ m.content }}{% endfor %}", "t");
  for (const std::string content : {"{{ x }}{% raw %}", "😀 é\u0301", "a\r\nb\t", "</s>", ""}) {
    EXPECT_EQ(plain.render(talk_of({{"user", content}})), content);
  }
}

}  // namespace
}  // namespace heed
