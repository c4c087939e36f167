// Cuts where the script changes. Kana count as Chinese, and so does their sound mark; spaces and characters of no
// script belong to what is before them.
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "text/huggingface/pre_tokenizers/pre_tokenizer.h"
#include "text/huggingface/pre_tokenizers/splitting.h"

namespace heed::huggingface {
namespace {

constexpr int32_t kAnyScript = -1;

// The tokenizers library has the scripts of Unicode 10.
int32_t script_of(char32_t c) {
  constexpr uint8_t kNewest = 10;
  constexpr char32_t kSoundMark = 0x30fc;
  if (c == U' ') {
    return kAnyScript;
  }
  if (c == kSoundMark) {
    return USCRIPT_HAN;
  }
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &status);
  if (age[0] == 0 || age[0] > kNewest || U_FAILURE(status) || script == USCRIPT_UNKNOWN) {
    return kAnyScript;
  }
  return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? USCRIPT_HAN : script;
}

class ScriptsPreTokenizer final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    PieceCutter cutter(pieces);
    for (const Piece& piece : pieces.list) {
      if (piece.token == Piece::kNoToken) {
        cut(pieces, piece, cutter);
      } else {
        cutter.keep(piece);
      }
    }
  }

 private:
  // What stands before the first character with a script is lost, as in the tokenizers library.
  static void cut(const Pieces& pieces, const Piece& piece, PieceCutter& cutter) {
    const std::string_view text = pieces.view(piece);
    int32_t last = kAnyScript;
    uint32_t begin = piece.begin;
    bool begun = false;
    for (uint32_t at = 0; at < text.size();) {
      const auto [value, size] = decode_character(text.data() + at);
      const int32_t script = script_of(value);
      if (script != kAnyScript && (!begun || script != last)) {
        if (begun) {
          cutter.cut(begin, piece.begin + at);
        }
        begin = piece.begin + at;
        begun = true;
      }
      last = script != kAnyScript ? script : last;
      at += size;
    }
    if (begun) {
      cutter.cut(begin, piece.end);
    }
  }
};

}  // namespace

PreTokenizerPtr make_scripts(const JsonValue&) { return std::make_unique<ScriptsPreTokenizer>(); }

}  // namespace heed::huggingface
