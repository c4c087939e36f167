// Files of conversations: what is read has as many expected tokens as tokens, and something to learn.
#include "fuzz/fuzz.h"
#include "text/tokenizer_training.h"
#include "train/corpus/conversations.h"

using namespace heed;

namespace {

constexpr std::string_view kFuzzedTemplate =
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}";

const Tokenizer& tokenizer_of_bytes() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    bool given = false;
    return train_tokenizer({.kind = TokenizerKind::byte, .vocabulary = 0, .user_symbols = {}}, [&](std::string& line) {
      line = "a";
      return !std::exchange(given, true);
    });
  }();
  return *tokenizer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const StoredChatTemplate chat{ChatTemplate::parse(kFuzzedTemplate, "template"), {}, {}};
  const fuzz::MemoryFile file(fuzz::text_of(bytes, size));
  for (const TooLong too_long : {TooLong::drop, TooLong::truncate, TooLong::refuse}) {
    fuzz::allow_refusal([&] {
      const Conversations found =
          read_conversations({file.path().string()}, {tokenizer_of_bytes(), chat, 60, too_long});
      for (const Conversation& one : found.all) {
        ensure(one.ids.size() == one.expected.size() && one.ids.size() <= 60 && one.learned() > 0, "fuzz",
               "a conversation that can't be learned");
      }
      end_of_answers(found, tokenizer_of_bytes());
    });
  }
  return 0;
}
