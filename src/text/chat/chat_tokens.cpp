#include "text/chat/chat_tokens.h"

#include <algorithm>

#include "text/chat/marked_text.h"
#include "text/token_ids.h"

namespace heed {
namespace {

// How many tokens the text's first `bytes` bytes share with all of it. A token across that border is not among them.
int64_t tokens_within(const Tokenizer& tokenizer, const ChatSpans& chat, size_t bytes,
                      const std::vector<int32_t>& all) {
  const std::vector<int32_t> own = ids_of(encode_marked_text(tokenizer, std::string_view(chat.text).substr(0, bytes)));
  return std::ranges::mismatch(own, all).in1 - own.begin();
}

}  // namespace

ChatTokens chat_tokens(const Tokenizer& tokenizer, const ChatSpans& chat) {
  ChatTokens tokens{.ids = ids_of(encode_marked_text(tokenizer, chat.text)), .of_assistant = {}};
  tokens.of_assistant.resize(tokens.ids.size());
  for (const ChatSpan& span : chat.assistant) {
    const int64_t begin = tokens_within(tokenizer, chat, span.begin, tokens.ids);
    const int64_t end = tokens_within(tokenizer, chat, span.end, tokens.ids);
    for (int64_t i = begin; i < end; ++i) {
      tokens.of_assistant[static_cast<size_t>(i)] = true;
    }
  }
  return tokens;
}

}  // namespace heed
