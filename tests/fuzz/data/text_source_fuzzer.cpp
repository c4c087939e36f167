// A language model's text, plain or compressed, in every form: two parts of it make the whole, and a stream is what was
// in its files.
#include "data/lines/text_source.h"
#include "fuzz/fuzz.h"

using namespace heed;

namespace {

struct Reading {
  std::string text;
  int64_t documents = 0;
  TextSize size;
};

Reading read(const TextRules& rules) {
  TextSource source(rules);
  Reading reading;
  for (TextLine line; source.next(line);) {
    reading.text += line.text + (line.line_break ? "\n" : "");
    reading.documents += line.begins_document ? 1 : 0;
  }
  reading.size = source.size();
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto cut = static_cast<int64_t>(bytes[0]);
  const fuzz::MemoryFile first(fuzz::text_of(bytes + 1, size / 2));
  const fuzz::MemoryFile second(fuzz::text_of(bytes + 1 + size / 2, size - 1 - size / 2));
  for (const auto& entry : kDocumentNames) {
    fuzz::allow_refusal([&, name = entry.first, form = entry.second] {
      TextRules rules{.files = {first.path(), second.path()}, .documents = form, .max_line_bytes = 200};
      const Reading whole = read(rules);
      rules.range.end = cut;
      const Reading before = read(rules);
      rules.range = {.begin = cut};
      const Reading after = read(rules);
      ensure(before.text + after.text == whole.text, "fuzz", "cut at {}, a text of {} is another", cut, name);
      ensure(before.size.bytes + after.size.bytes == whole.size.bytes, "fuzz", "cut at {}, {} has other bytes", cut,
             name);
      const bool is_stream = form == Documents::none;
      ensure(is_stream || before.documents + after.documents == whole.documents, "fuzz", "{} is cut within", name);
      ensure(!is_stream || static_cast<int64_t>(whole.text.size()) == whole.size.bytes, "fuzz",
             "a stream of other bytes");
    });
  }
  return 0;
}
