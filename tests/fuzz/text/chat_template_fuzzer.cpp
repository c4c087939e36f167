// A chat template, and after a NUL a conversation for it.
#include "fuzz/fuzz.h"
#include "text/chat/chat_template.h"
#include "text/chat/talk.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const Chat kTalk = talk_of({{"system", "s"}, {"user", "Größe 😀"}, {"assistant", " a\n"}, {"user", ""}});
  const std::string_view input = fuzz::text_of(bytes, size);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view json = input.substr(std::min(end + 1, input.size()));
  fuzz::allow_refusal([&] {
    const ChatTemplate read = ChatTemplate::parse(input.substr(0, end), "fuzz");
    const Chat chat = json.empty() ? kTalk : parse_chat(json, "fuzz");
    const ChatOptions options{.bos_token = "<s>", .eos_token = "</s>", .now = std::chrono::local_seconds{}};
    const std::string text = read.render(chat, options);
    ensure(read.render(chat, options) == text, "fuzz", "renders differently the second time");
    const ChatSpans spans = read.assistant_spans(chat, options);
    ensure(spans.text == text, "fuzz", "spans of another text");
    for (const ChatSpan& span : spans.assistant) {
      ensure(span.begin <= span.end && span.end <= text.size(), "fuzz", "a span outside of the text");
    }
  });
  return 0;
}
