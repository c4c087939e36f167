// Cutting pieces at matches.
#pragma once

#include "text/huggingface/characters/characters.h"
#include "text/huggingface/pre_tokenizers/pre_tokenizer.h"
#include "text/huggingface/regex/pattern.h"

namespace heed::huggingface {

// What becomes of the text that matched: it is left out, a piece of its own, the end of the piece before, the beginning
// of the piece behind, or a piece together with its neighbours of the same sort.
enum class SplitBehavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

enum class MatchRole : uint8_t { delimiter, content };  // content: what lies between matches is what matched

SplitBehavior read_split_behavior(const JsonValue& json);

// A stretch of a piece's text that matched or lies between matches.
struct Stretch {
  uint32_t begin, end;
  bool matched;
};

// Collects the pieces that replace the old list.
class PieceCutter {
 public:
  explicit PieceCutter(Pieces& pieces);
  ~PieceCutter() { pieces_.list.swap(pieces_.scratch); }
  PieceCutter(const PieceCutter&) = delete;
  PieceCutter& operator=(const PieceCutter&) = delete;

  void keep(const Piece& piece) { pieces_.scratch.push_back(piece); }
  // Bytes of the text; nothing when empty.
  void cut(uint32_t begin, uint32_t end);
  // The matches are relative to the piece.
  void cut_at(const Piece& piece, const std::vector<ByteRange>& matches, SplitBehavior behavior, MatchRole role);

 private:
  void cut_stretches(const Piece& piece, SplitBehavior behavior);

  Pieces& pieces_;
  std::vector<Stretch> stretches_;
};

// Cuts all pieces that are not tokens yet.
void split_by_pattern(Pieces& pieces, const Pattern& pattern, SplitBehavior behavior, MatchRole role);

template <class Test>
void split_by_character(Pieces& pieces, Test&& test, SplitBehavior behavior) {
  PieceCutter cutter(pieces);
  for (const Piece& piece : pieces.list) {
    if (piece.token != Piece::kNoToken) {
      cutter.keep(piece);
      continue;
    }
    const std::string_view text = pieces.view(piece);
    pieces.matches.clear();
    for (uint32_t at = 0; at < text.size();) {
      const auto [value, size] = decode_character(text.data() + at);
      if (test(value)) {
        pieces.matches.push_back({at, at + size});
      }
      at += size;
    }
    cutter.cut_at(piece, pieces.matches, behavior, MatchRole::delimiter);
  }
}

}  // namespace heed::huggingface
