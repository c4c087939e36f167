// A tokenizer's file of any kind. A vocabulary in JSON gets a valid checksum, since without one nothing gets past the
// check.
#include "fuzz/fuzz.h"
#include "text/tokenizer.h"
#include "text/vocabulary/vocabulary.h"

using namespace heed;

namespace {

std::string sealed(std::string_view text) {
  const size_t end = text.starts_with('{') ? text.rfind(",\n \"checksum\"") : std::string_view::npos;
  if (end == std::string_view::npos) {
    return std::string(text);
  }
  const std::string content(text.substr(0, end));
  return content + ",\n \"checksum\": \"" + checksum_of(content) + "\"\n}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::allow_refusal([&] {
    const auto tokenizer = parse_tokenizer(sealed(fuzz::text_of(bytes, size)), "fuzz");
    const std::vector<TokenId> tokens = tokenizer->encode("Zwei  Hunde, \u00c4pfel\u3000und 1,5 \U0001f600!");
    for (const TokenId token : tokens) {
      tokenizer->piece(token);
    }
    tokenizer->decode(tokens);
    std::vector<TokenId> all;
    for (int32_t id = 0; id < std::min<int64_t>(tokenizer->vocabulary_size(), 1000); ++id) {
      all.push_back(TokenId{id});
    }
    tokenizer->decode(all);
    ensure(parse_tokenizer(tokenizer->serialize(), "again")->encode("Zwei Hunde") == tokenizer->encode("Zwei Hunde"),
           "fuzz", "is written as another");
  });
  return 0;
}
