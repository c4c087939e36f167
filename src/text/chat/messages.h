// Conversations: messages with roles.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/types/chat.h"
#include "text/chat/template/values/value.h"

namespace heed {

// A conversation as a template sees it.
struct Chat {
  chat::Value messages;              // a list of dicts with a "role" each
  chat::Value tools = chat::None{};  // a list of functions that the model may call, as JSON schemas
  std::vector<std::pair<std::string, chat::Value>> variables = {};  // further names for the template
};

Chat chat_of(std::span<const ChatMessage> messages);

// One conversation, a JSON object: {"messages": [{"role": "user", "content": "..."}, ...]}, and beside it "tools", a
// list, and "chat_template_kwargs", an object of further names for the template. A message has a "role", a text that is
// passed through whatever it is, and a "content": a text, null, or a list of parts, each an object with a "type"; it may
// have none when it has "tool_calls". Its other keys are passed through.
// FormatError names `where`, the message and the key.
Chat parse_chat(std::string_view json, std::string_view where);

}  // namespace heed
