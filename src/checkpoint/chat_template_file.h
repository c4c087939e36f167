// The chat template in a model's folder.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/model_directory.h"
#include "text/chat/chat_template.h"

namespace heed {

struct StoredChatTemplate {
  ChatTemplate chat;
  // As tokenizer_config.json spells them, where it does.
  std::optional<std::string> bos_token, eos_token;
};

// chat_template.jinja, or else "chat_template" of tokenizer_config.json: a text, or a list of named texts, in which the
// one named "default" counts. ConfigError, naming both, when the folder has neither; FormatError for a file that is not
// what it should be.
StoredChatTemplate load_chat_template(const ModelFolder& folder);
// The same with the template in another file.
StoredChatTemplate load_chat_template(const ModelFolder& folder, const std::filesystem::path& file);

// The template's text, whatever it says; nothing where the folder has none.
std::optional<std::string> chat_template_text(const ModelFolder& folder);
// Puts the chat template of one folder into another, whatever it says, if there is one.
void copy_chat_template(const ModelFolder& from, const ModelFolder& to);
void save_chat_template(const ChatTemplate& chat, const ModelFolder& to);

}  // namespace heed
