// Conversations with a language model: how it wants to see them, by the chat template in its directory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heed/types/chat.h"

namespace heed {

// A model's chat template. Safe to call from several threads at once.
class ChatFormat {
 public:
  // chat_template.jinja in the directory, or "chat_template" in its tokenizer_config.json. Throws when the model has
  // neither, or when the template uses what is not known, naming its line.
  explicit ChatFormat(const std::string& directory);
  ~ChatFormat();
  ChatFormat(ChatFormat&& other) noexcept;
  ChatFormat& operator=(ChatFormat&& other) noexcept;

  // The text that the model continues with the assistant's answer: a prompt for Generator::generate() with
  // PromptMarks::spelled. Throws where the template refuses the messages.
  std::string prompt(std::span<const ChatMessage> messages) const;
  // The same for an object {"messages": [{"role": ..., "content": ...}, ...]} with "tools" and "chat_template_kwargs"
  // where there are some. Throws, naming `where` and the key, for anything else.
  std::string prompt(std::string_view json, std::string_view where) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed
