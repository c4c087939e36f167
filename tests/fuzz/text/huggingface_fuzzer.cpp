// A tokenizer.json, and the older files that become one: the first byte says which.
#include "fuzz/fuzz.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/older/older_files.h"

using namespace heed;

namespace {

std::string document_of(std::string_view text) {
  using namespace heed::huggingface;
  const char kind = text.empty() ? '{' : text.front();
  const std::string_view rest = text.substr(text.empty() ? 0 : 1);
  const size_t half = rest.size() / 2;
  switch (kind) {
    case 'b':
      return tokenizer_json_of(BertFile{.vocabulary = rest}, "fuzz");
    case 'g':
      return tokenizer_json_of(ByteLevelFiles{.vocabulary = rest.substr(0, half), .merges = rest.substr(half)}, "fuzz");
    case 's':
      return tokenizer_json_of(SentencePieceFile{.model = rest, .numbers = SentencePieceFile::Numbers::fairseq},
                               "fuzz");
    case 'm':
      return tokenizer_json_of(SentencePieceFile{.model = rest.substr(0, half),
                                                 .vocabulary = rest.substr(half),
                                                 .numbers = SentencePieceFile::Numbers::listed},
                               "fuzz");
    default:
      return std::string(text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::allow_refusal([&] {
    const auto tokenizer = parse_huggingface_tokenizer(document_of(fuzz::text_of(bytes, size)), "fuzz");
    const std::string text = "Zwei  Hunde,\n\u00c4pfel\u3000und 1,5 \U0001f600! [MASK]</s>\u2581a\u0301\ufb01";
    const auto encoding = tokenizer->encode_text(text, {.offsets = huggingface::Offsets::characters, .texts = true});
    ensure(encoding.offsets.size() == encoding.ids.size() && encoding.types.size() == encoding.ids.size(), "fuzz",
           "{} tokens, {} offsets", encoding.ids.size(), encoding.offsets.size());
    ensure(tokenizer->encode_text(text, {}).ids == encoding.ids, "fuzz", "offsets change the tokens");
    std::vector<TokenId> known;
    for (const TokenId id : encoding.ids) {
      if (id.value < tokenizer->vocabulary_size()) {
        known.push_back(id);
        tokenizer->bytes_of(id);
      }
    }
    tokenizer->decode(known);
    tokenizer->encode(text);
    tokenizer->encode_masked(text, tokenizer->mask());
    tokenizer->encode_pair("a b", text, {});
  });
  return 0;
}
