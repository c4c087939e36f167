#include "text/chat/messages.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/chat/template/values/json.h"

namespace heed {
namespace {

using chat::Dict;
using chat::List;
using chat::None;
using chat::Value;

// A text, or a list of parts.
void require_content(const Value& content, std::string_view where, std::string_view message) {
  if (content.text() != nullptr || content.is<None>()) {
    return;
  }
  const List* parts = content.list();
  require<FormatError>(parts != nullptr, where, "{}: \"content\" is {}, expected a text or a list of parts", message,
                       chat::type_name(content));
  for (size_t i = 0; i < parts->items.size(); ++i) {
    const Dict* part = parts->items[i].dict();
    const Value* type = part == nullptr ? nullptr : part->find("type");
    require<FormatError>(type != nullptr && type->text() != nullptr, where,
                         "{}: part {} of \"content\" is not an object with a \"type\"", message, i + 1);
    const Value* text = part->find("text");
    require<FormatError>(*type->text() != "text" || (text != nullptr && text->text() != nullptr), where,
                         "{}: part {} of \"content\" has the type \"text\" and no \"text\"", message, i + 1);
  }
}

void require_message(const Value& value, std::string_view where, std::string_view name) {
  const Dict* message = value.dict();
  require<FormatError>(message != nullptr, where, "{} is {}, expected an object", name, chat::type_name(value));
  const Value* role = message->find("role");
  require<FormatError>(role != nullptr, where, "{} has no \"role\"", name);
  require<FormatError>(role->text() != nullptr && !role->text()->empty(), where, "{}: \"role\" is not a text, or empty",
                       name);
  const Value* calls = message->find("tool_calls");
  require<FormatError>(calls == nullptr || calls->list() != nullptr || calls->is<None>(), where,
                       "{}: \"tool_calls\" is not a list", name);
  const Value* content = message->find("content");
  require<FormatError>(content != nullptr || (calls != nullptr && calls->list() != nullptr), where,
                       "{} has no \"content\"", name);
  if (content != nullptr) {
    require_content(*content, where, name);
  }
}

Value text(const std::string& content) { return chat::constant(content); }

}  // namespace

Chat chat_of(std::span<const ChatMessage> messages) {
  chat::Run run("messages");
  std::vector<Value> list;
  list.reserve(messages.size());
  for (const ChatMessage& message : messages) {
    list.push_back(chat::make_dict(
        run, {{chat::constant("role"), text(message.role)}, {chat::constant("content"), text(message.content)}}));
  }
  return {.messages = chat::make_list(run, std::move(list))};
}

Chat parse_chat(std::string_view json, std::string_view where) {
  const Value value = chat::parse_json(json, where);
  require<FormatError>(value.dict() != nullptr, where, "expected an object with \"messages\", found {}",
                       chat::type_name(value));
  Chat chat;
  for (const auto& [key, one] : value.dict()->items) {
    const std::string& name = *key.text();
    if (name == "messages") {
      require<FormatError>(one.list() != nullptr && !one.list()->items.empty(), where,
                           "\"messages\" is not a list, or empty");
      chat.messages = one;
    } else if (name == "tools") {
      require<FormatError>(one.list() != nullptr || one.is<None>(), where, "\"tools\" is not a list");
      chat.tools = one;
    } else if (name == "chat_template_kwargs") {
      require<FormatError>(one.dict() != nullptr, where, "\"chat_template_kwargs\" is not an object");
      for (const auto& [variable, given] : one.dict()->items) {
        chat.variables.emplace_back(*variable.text(), given);
      }
    } else {
      fail<FormatError>(where, "the key \"{}\" is not known: expected messages, tools or chat_template_kwargs", name);
    }
  }
  require<FormatError>(chat.messages.list() != nullptr, where, "no \"messages\"");
  const std::vector<Value>& messages = chat.messages.list()->items;
  for (size_t i = 0; i < messages.size(); ++i) {
    require_message(messages[i], where, fmt::format("message {}", i + 1));
  }
  return chat;
}

}  // namespace heed
