// Conversations for tests.
#pragma once

#include <vector>

#include "text/chat/messages.h"

namespace heed {

inline Chat talk_of(const std::vector<ChatMessage>& messages) { return chat_of(messages); }

}  // namespace heed
