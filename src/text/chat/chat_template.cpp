#include "text/chat/chat_template.h"

#include "base/errors.h"

namespace heed {
namespace {

using chat::Value;

bool is_assistant(const Value& message) {
  const chat::Dict* dict = message.dict();
  if (dict == nullptr) {
    return false;
  }
  const Value* role = dict->find("role");
  const std::string* text = role == nullptr ? nullptr : role->text();
  return text != nullptr && *text == "assistant";
}

Value first_messages(const std::vector<Value>& messages, size_t count) {
  chat::Run run("messages");
  return chat::make_list(run, {messages.begin(), messages.begin() + static_cast<int64_t>(count)});
}

}  // namespace

ChatTemplate::ChatTemplate(chat::Program program, std::string_view text, std::string_view where)
    : program_(std::make_shared<const chat::Program>(std::move(program))), text_(text), where_(where) {}

ChatTemplate ChatTemplate::parse(std::string_view text, std::string_view where) {
  return {chat::parse_program(text, where), text, where};
}

chat::Rendering ChatTemplate::run(const Value& messages, const Chat& chat, const ChatOptions& options) const {
  std::vector<chat::Variable> variables{
      {"messages", messages},
      {"tools", chat.tools},
      {"documents", chat::None{}},
      {"add_generation_prompt", options.end == ChatOptions::End::before_answer},
  };
  const auto put = [&](std::string_view name, const Value& value) {
    std::erase_if(variables, [&](const chat::Variable& one) { return one.name == name; });
    variables.push_back({name, value});
  };
  if (options.bos_token) {
    put("bos_token", chat::constant(*options.bos_token));
  }
  if (options.eos_token) {
    put("eos_token", chat::constant(*options.eos_token));
  }
  for (const auto* further : {&options.variables, &chat.variables}) {
    for (const auto& [name, value] : *further) {
      put(name, value);
    }
  }
  return chat::run_program(*program_, where_, variables, options.now);
}

std::string ChatTemplate::render(const Chat& chat, const ChatOptions& options) const {
  return run(chat.messages, chat, options).text;
}

ChatSpans ChatTemplate::assistant_spans(const Chat& chat, const ChatOptions& options) const {
  ChatOptions whole = options;
  whole.end = ChatOptions::End::after_messages;
  chat::Rendering rendering = run(chat.messages, chat, whole);
  if (program_->generation == chat::Program::Generation::unmarked) {
    return spans_by_prefixes(chat, whole, std::move(rendering.text));
  }
  require<FormatError>(!rendering.hidden, where_,
                       "a generation block within a macro, filter, call or set: its place in the text can't be told");
  return {.text = std::move(rendering.text), .assistant = std::move(rendering.generated)};
}

// The answer begins where the rendering of what is before it ends, and ends where the rendering that it closes ends.
// Some templates put eos behind the last message alone: for these, the rendering without eos counts.
ChatSpans ChatTemplate::spans_by_prefixes(const Chat& chat, const ChatOptions& options, std::string text) const {
  ChatOptions before_answer = options, without_eos = options;
  before_answer.end = ChatOptions::End::before_answer;
  without_eos.eos_token = "";
  ChatSpans spans{.text = std::move(text), .assistant = {}};
  const chat::List* list = chat.messages.list();
  require<FormatError>(list != nullptr, where_, "the messages are not a list");
  for (size_t i = 0; i < list->items.size(); ++i) {
    if (!is_assistant(list->items[i])) {
      continue;
    }
    const auto refuse = [&] {
      fail<FormatError>(where_,
                        "where the answer in message {} lies can't be told: the template writes it differently when "
                        "other messages follow; put {{% generation %}} blocks around answers",
                        i + 1);
    };
    const std::string prompt = run(first_messages(list->items, i), chat, before_answer).text;
    const Value with_answer = first_messages(list->items, i + 1);
    std::string answered = run(with_answer, chat, options).text;
    if (!spans.text.starts_with(answered)) {
      answered = run(with_answer, chat, without_eos).text;
    }
    if (!answered.starts_with(prompt) || !spans.text.starts_with(answered)) {
      refuse();
    }
    spans.assistant.push_back({prompt.size(), answered.size()});
  }
  return spans;
}

}  // namespace heed
