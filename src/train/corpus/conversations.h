// Conversations with an assistant, from which a language model learns what the assistant writes.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/chat_template_file.h"
#include "data/corpus/stored_fields.h"
#include "heed/types/tokenizer.h"
#include "text/chat/messages.h"

namespace heed {

// A conversation up to the last token that is learned. The first token is not expected, and the last one not read.
struct Conversation {
  std::vector<int32_t> ids;
  // The token that follows each, or Targets::kIgnored where the assistant did not write it.
  std::vector<int32_t> expected;
  std::string where;

  int64_t learned() const;
};

struct Conversations {
  std::vector<Conversation> all;
  // Counts of conversations that are longer than allowed.
  int64_t dropped = 0, truncated = 0;
  std::string first_too_long;

  std::string text() const;  // how many, in one line
};

// Identifies all that is read and learned, side after side.
uint64_t fingerprint_of(std::initializer_list<const Conversations*> sides);

// The token that ends every answer, or none: an answer's last token that stands for no text. Truncated answers do not
// count.
std::optional<TokenId> end_of_answers(const Conversations& conversations, const Tokenizer& tokenizer);

// How conversations become tokens.
struct ChatReading {
  const Tokenizer& tokenizer;
  const StoredChatTemplate& chat_template;
  int64_t max_length = 0;  // tokens of a conversation
  TooLong too_long = TooLong::drop;
};

// What is learned from a conversation, however long. FormatError as read_conversations() has it.
Conversation learned_conversation(const Chat& chat, const ChatReading& reading, const std::string& where);

// Reads files with a JSON object in each line, as parse_chat() has them; blank lines are skipped. FormatError, naming
// file and line, for anything else: other roles than "system", "developer", "user", "assistant", "tool" and "function",
// conversations without an answer or with an empty one, and those that the template refuses, or of which it writes a
// part differently when more follows.
Conversations read_conversations(const std::vector<std::string>& files, const ChatReading& reading);

// As NAME.ids and so on; and back, completely. FormatError for what no text gives.
void store_conversations(FieldsToStore& fields, const std::string& name, const Conversations& conversations);
Conversations stored_conversations(const StoredFields& fields, const std::string& name, int64_t vocabulary,
                                   int64_t max_length);

}  // namespace heed
