#include "serve/openai/chat_messages.h"

#include <utility>

#include "serve/openai/answers.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

constexpr std::string_view kNoTools = "tools are not supported: leave it out, or say \"tool_choice\": \"none\"";

std::string text_of_part(const Json& part, const std::string& where, std::string_view type) {
  Fields fields(part, where + ".");
  const std::string given = fields.required_text("type");
  if (given != type) {
    refuse_field(fields.path_of("type"), "is \"{}\", expected \"{}\": the model reads only text", given, type);
  }
  std::string text = fields.required_text("text");
  for (const char* const list : {"annotations", "logprobs"}) {  // of a text that an earlier answer had
    if (type == "output_text" && fields.find(list) != nullptr && !fields.find(list)->is_array()) {
      refuse_field(fields.path_of(list), "is not a list");
    }
  }
  fields.finish();
  return text;
}

// The texts of a list of parts, with line breaks between them.
std::string content_of(Fields& message, std::string_view type) {
  const Json& content = message.get("content");
  const std::string where = message.path_of("content");
  if (content.is_string()) {
    return content.get<std::string>();
  }
  if (!content.is_array() || content.empty()) {
    refuse_field(where, "is {}, expected a text or a list of texts",
                 content.is_array() ? "empty" : content.type_name());
  }
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    text += (i == 0 ? "" : "\n") + text_of_part(content[i], fmt::format("{}[{}]", where, i), type);
  }
  return text;
}

Json message_of(const Json& given, const std::string& where, const PartTypes& parts) {
  Fields fields(given, where + ".");
  if (parts.given != kChatParts.given) {
    fields.only("type", "message", "only messages are supported");
    fields.accept({"id", "status"});  // of an earlier answer's messages
  }
  std::string role = fields.required_text("role");
  if (role == "tool" || role == "function") {
    refuse_field(fields.path_of("role"), "is \"{}\": tools are not supported", role);
  }
  role = *fields.choice("role", {"system", "developer", "user", "assistant"});
  const bool is_written = role == "assistant";
  Json message{{"role", role == "developer" ? "system" : role},
               {"content", content_of(fields, is_written ? parts.written : parts.given)}};
  if (const auto name = fields.text("name")) {
    message["name"] = *name;
  }
  fields.only("tool_calls", Json::array(), "tools are not supported");
  fields.finish();
  return message;
}

}  // namespace

Json chat_messages(const Json& list, const std::string& field, const PartTypes& parts) {
  if (!list.is_array() || list.empty()) {
    refuse_field(field, "is {}, expected a list of messages", list.is_array() ? "empty" : list.type_name());
  }
  Json messages = Json::array();
  for (size_t i = 0; i < list.size(); ++i) {
    messages.push_back(message_of(list[i], fmt::format("{}[{}]", field, i), parts));
  }
  return messages;
}

void refuse_tools(Fields& fields) {
  const Json* tools = fields.find("tools");
  const bool has_tools = tools != nullptr && !(tools->is_array() && tools->empty());
  const Json* choice = fields.find("tool_choice");
  const bool has_none = choice != nullptr && *choice == "none";
  if (choice != nullptr && !has_none && (has_tools || *choice != "auto")) {
    refuse_field("tool_choice", "{}", kNoTools);
  }
  if (has_tools && !has_none) {
    refuse_field("tools", "{}", kNoTools);
  }
  fields.flag("parallel_tool_calls");  // of none
}

std::string prompt_of_chat(const ServedModel& model, Json messages, const Json* template_options,
                           const std::string& field) {
  Json chat{{"messages", std::move(messages)}};
  if (template_options != nullptr) {
    chat["chat_template_kwargs"] = *template_options;
  }
  const ChatFormat& format = model.chat();
  try {
    return format.prompt(to_text(chat), field);
  } catch (const ConfigError& error) {
    throw RequestError(400, field, error.what());
  } catch (const FormatError& error) {
    throw RequestError(400, field, error.what());
  }
}

}  // namespace heed::serve::openai
