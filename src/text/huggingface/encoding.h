// A text as tokens, as Hugging Face's tokenizers library gives it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/strong.h"
#include "text/huggingface/aligned_text.h"
#include "text/tokenizer.h"

namespace heed::huggingface {

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<int32_t> types;      // of the segment: 0 or 1 in most models
  std::vector<ByteRange> offsets;  // what each token covers in its text, where asked for
  std::vector<std::string> texts;  // how it is spelled, where asked for
};

enum class Offsets : uint8_t { none, bytes, characters };

// matched: a special token that is spelled in the text becomes that token, as in the library. literal: it is text.
// Other added tokens are always found.
enum class SpecialText : uint8_t { matched, literal };

// How special tokens in a text are treated; `matched` is matched in any case.
struct SpecialRule {
  SpecialText text = SpecialText::literal;
  TokenId matched = kNoToken;
};

// framed: with what the file's post-processor puts around texts.
enum class Frame : uint8_t { bare, framed };

struct EncodeOptions {
  SpecialText special = SpecialText::matched;
  Frame frame = Frame::framed;
  Offsets offsets = Offsets::none;
  bool texts = false;
};

using heed::FrameSlot;

}  // namespace heed::huggingface
