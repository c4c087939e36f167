// Conversations as tokens, for models that learn from them.
#pragma once

#include <cstdint>
#include <vector>

#include "text/chat/chat_template.h"
#include "text/tokenizer.h"

namespace heed {

// The whole conversation as encode_marked_text() cuts it, and for each token whether the assistant writes it: whether
// it is among the tokens up to the end of an answer, but not among those of the prompt before it.
struct ChatTokens {
  std::vector<int32_t> ids;
  std::vector<bool> of_assistant;
};

ChatTokens chat_tokens(const Tokenizer& tokenizer, const ChatSpans& chat);

}  // namespace heed
