// A limit, and a text after it: its sentences are in order, have no line breaks, and put back they are the text.
#include "fuzz/fuzz.h"
#include "text/sentences/sentences.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) {
    return 0;
  }
  static const SentenceSplitter german("de"), english("en"), chinese("zh");
  const SentenceSplitter& splitter = bytes[0] % 3 == 0 ? german : bytes[0] % 3 == 1 ? english : chinese;
  const std::string_view text = fuzz::text_of(bytes + 1, std::min<size_t>(size - 1, 5000));
  const SentenceLimit limit{bytes[0] / 3, [](std::string_view part) { return static_cast<int64_t>(part.size()); }};
  fuzz::allow_refusal([&] {
    std::vector<std::string> same;
    const std::vector<TextSpan> spans = splitter.split(text, limit);
    for (const TextSpan& span : spans) {
      ensure(!span.empty() && span.in(text).find_first_of("\r\n") == text.npos, "fuzz", "a span of more than a line");
      same.emplace_back(span.in(text));
    }
    ensure(with_spans_replaced(text, spans, same) == text, "fuzz", "another text");
  });
  return 0;
}
