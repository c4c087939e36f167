// Chat templates: how a model wants to see a conversation. A model's folder brings one along, written in the language
// of Jinja; docs/chat.md says which part of it is understood.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat/messages.h"
#include "text/chat/template/interpreter.h"

namespace heed {

struct ChatOptions {
  // Absent where the model has no such token: the template sees an undefined name.
  std::optional<std::string> bos_token = {}, eos_token = {};
  // Whether the text ends where the assistant's answer begins, or after the last message.
  enum class End : uint8_t { after_messages, before_answer } end = End::after_messages;
  // What strftime_now shows. Without it a template that asks is refused.
  std::optional<std::chrono::local_seconds> now = {};
  // Further names that the template can use, like "enable_thinking".
  std::vector<std::pair<std::string, chat::Value>> variables = {};
};

// A part of a rendered conversation, in bytes.
using ChatSpan = chat::TextSpan;

struct ChatSpans {
  std::string text;
  std::vector<ChatSpan> assistant;  // what the assistant said, in order, with the marks that end an answer
};

// Immutable, and safe to use from several threads at once.
class ChatTemplate {
 public:
  // FormatError, "where:line: ...", for what is not a template, or uses what is not known here.
  static ChatTemplate parse(std::string_view text, std::string_view where);
  const std::string& text() const { return text_; }  // as it was parsed

  // FormatError, with the line of the template, when it refuses the messages, asks for what is not there, or uses up
  // one of the limits in text/chat/template/limits.h.
  std::string render(const Chat& chat, const ChatOptions& options = {}) const;

  // The whole conversation, and which parts of it a model that learns from it should learn to write.
  //   Where the template marks them by {% generation %} blocks: these.
  //   Otherwise a message of the assistant is what lies between the rendering of all messages before it, up to the
  //   answer, and the rendering that ends with it. FormatError, naming the message, where these are not beginnings of
  //   the whole text, since the template writes a message differently when others follow.
  ChatSpans assistant_spans(const Chat& chat, const ChatOptions& options = {}) const;

 private:
  ChatTemplate(chat::Program program, std::string_view text, std::string_view where);
  chat::Rendering run(const chat::Value& messages, const Chat& chat, const ChatOptions& options) const;
  ChatSpans spans_by_prefixes(const Chat& chat, const ChatOptions& options, std::string text) const;

  std::shared_ptr<const chat::Program> program_;
  std::string text_, where_;
};

}  // namespace heed
