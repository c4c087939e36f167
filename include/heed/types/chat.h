// A conversation's messages.
#pragma once

#include <string>

namespace heed {

// Templates know "system", "user" and "assistant", and some of them other roles.
struct ChatMessage {
  std::string role, content;
};

}  // namespace heed
