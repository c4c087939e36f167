// An HTML fragment, and after a NUL what its texts are translated to: the tags stay the same, and so does their nesting.
#include "fuzz/fuzz.h"
#include "text/html/html_text.h"
#include "text/html/tag_nesting.h"

using namespace heed;
using testing_html::tag_nesting;
using testing_html::TagOrder;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view input = fuzz::text_of(bytes, std::min<size_t>(size, 4000));
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string html(input.substr(0, end));
  std::string_view target = input.substr(std::min(end + 1, input.size()));
  fuzz::allow_refusal([&] {
    const HtmlText text(html);
    std::vector<TranslatedText> translations;
    for (const std::string& source : text.texts()) {
      TranslatedText& one = translations.emplace_back();
      const size_t part = std::min(target.find('\0'), target.size());
      one.text = target.substr(0, part);
      target.remove_prefix(std::min(part + 1, target.size()));
      for (size_t i = 0; i + 1 < one.text.size() && i < 8; i += 2) {
        const size_t s = static_cast<uint8_t>(one.text[i]) % (source.size() + 1);
        const size_t t = static_cast<uint8_t>(one.text[i + 1]) % (one.text.size() + 1);
        one.alignment.push_back({{s, s + 3}, {t, t + 4}});
      }
    }
    const std::string output = text.with(translations);
    ensure(tag_nesting(output, TagOrder::sorted) == tag_nesting(html, TagOrder::sorted), "fuzz", "other tags: {}",
           output);
  });
  return 0;
}
