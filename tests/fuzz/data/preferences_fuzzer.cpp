// Files of preferences: what is read has two answers that differ, each with something to learn.
#include "fuzz/fuzz.h"
#include "text/tokenizer_training.h"
#include "train/corpus/preferences.h"

using namespace heed;

namespace {

const Tokenizer& tokenizer_of_preferences() {
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
  static const StoredChatTemplate chat{
      ChatTemplate::parse("{% for m in messages %}{{ m.role }}:{{ m.content }}{{ eos_token }}{% endfor %}"
                          "{% if add_generation_prompt %}assistant:{% endif %}",
                          "template"),
      {},
      {}};
  const fuzz::MemoryFile file(fuzz::text_of(bytes, size));
  for (const TooLong too_long : {TooLong::drop, TooLong::refuse}) {
    fuzz::allow_refusal([&] {
      const Preferences found =
          read_preferences({file.path().string()}, {tokenizer_of_preferences(), chat, 60, too_long});
      for (int64_t i = 0; i < found.size(); ++i) {
        const auto pair = static_cast<size_t>(i);
        ensure(found.chosen.all[pair].learned() > 0 && found.rejected.all[pair].learned() > 0, "fuzz",
               "a pair that can't be learned");
      }
    });
  }
  return 0;
}
