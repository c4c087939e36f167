// The pre-tokenizers of a tokenizer.json: they cut text into pieces, of which the model makes tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "text/huggingface/aligned_text.h"
#include "text/huggingface/json.h"

namespace heed::huggingface {

// A part of a text, or an added token that was found in it.
struct Piece {
  static constexpr int32_t kNoToken = -1;

  uint32_t begin = 0, end = 0;  // bytes of the text
  uint32_t origin = 0;          // the byte of the original at which the piece began when it was cut off
  int32_t token = kNoToken;
};

struct Pieces {
  AlignedText text;
  std::vector<Piece> list;
  bool as_bytes = false;  // the text stands for its bytes in the byte-level alphabet
  std::vector<Piece> scratch;
  std::vector<ByteRange> matches;

  std::string_view view(const Piece& piece) const { return text.view().substr(piece.begin, piece.end - piece.begin); }
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  virtual void apply(Pieces& pieces) const = 0;
  // Whether the pieces depend on where the original of their text began.
  virtual bool needs_origins() const { return false; }
  // Makes a byte-level one that comes last leave the text as its bytes; false if there is none.
  virtual bool leave_bytes() { return false; }

 protected:
  PreTokenizer() = default;
};

using PreTokenizerPtr = std::unique_ptr<PreTokenizer>;

// From the value of "pre_tokenizer"; FormatError for types and settings that are unknown.
PreTokenizerPtr read_pre_tokenizer(const JsonValue& json);

PreTokenizerPtr make_byte_level(const JsonValue& json);
PreTokenizerPtr make_metaspace(const JsonValue& json);
PreTokenizerPtr make_split(const JsonValue& json);
PreTokenizerPtr make_scripts(const JsonValue& json);

}  // namespace heed::huggingface
