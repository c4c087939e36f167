#include "text/huggingface/pre_tokenizers/splitting.h"

#include <algorithm>

#include "base/errors.h"

namespace heed::huggingface {

SplitBehavior read_split_behavior(const JsonValue& json) {
  const std::string name = json.text();
  if (name == "Removed") {
    return SplitBehavior::removed;
  }
  if (name == "Isolated") {
    return SplitBehavior::isolated;
  }
  if (name == "MergedWithPrevious") {
    return SplitBehavior::merged_with_previous;
  }
  if (name == "MergedWithNext") {
    return SplitBehavior::merged_with_next;
  }
  if (name == "Contiguous") {
    return SplitBehavior::contiguous;
  }
  json.refuse(fmt::format("the behavior '{}' is unknown", name));
}

PieceCutter::PieceCutter(Pieces& pieces) : pieces_(pieces) {
  pieces_.scratch.clear();
  pieces_.scratch.reserve(pieces_.list.size());
}

void PieceCutter::cut(uint32_t begin, uint32_t end) {
  if (begin < end) {
    const uint32_t origin = pieces_.text.tracking() == Tracking::on ? pieces_.text.origin(begin).begin : 0;
    pieces_.scratch.push_back({begin, end, origin, Piece::kNoToken});
  }
}

void PieceCutter::cut_at(const Piece& piece, const std::vector<ByteRange>& matches, SplitBehavior behavior,
                         MatchRole role) {
  const uint32_t size = piece.end - piece.begin;
  if (behavior == SplitBehavior::isolated || (behavior == SplitBehavior::removed)) {
    const bool keep_matches = behavior == SplitBehavior::isolated || role == MatchRole::content;
    const bool keep_others = behavior == SplitBehavior::isolated || role == MatchRole::delimiter;
    uint32_t at = 0;
    for (const ByteRange match : matches) {
      if (keep_others) {
        cut(piece.begin + at, piece.begin + match.begin);
      }
      if (keep_matches) {
        cut(piece.begin + match.begin, piece.begin + match.end);
      }
      at = match.end;
    }
    if (keep_others) {
      cut(piece.begin + at, piece.end);
    }
    return;
  }
  stretches_.clear();
  uint32_t at = 0;
  const bool matched = role == MatchRole::delimiter;
  for (const ByteRange match : matches) {
    if (at != match.begin) {
      stretches_.push_back({at, match.begin, !matched});
    }
    stretches_.push_back({match.begin, match.end, matched});
    at = match.end;
  }
  if (at != size) {
    stretches_.push_back({at, size, !matched});
  }
  cut_stretches(piece, behavior);
}

void PieceCutter::cut_stretches(const Piece& piece, SplitBehavior behavior) {
  std::vector<Stretch> merged;
  const bool backwards = behavior == SplitBehavior::merged_with_next;
  if (backwards) {
    std::ranges::reverse(stretches_);
  }
  bool before = false;
  for (const Stretch& stretch : stretches_) {
    const bool joins = behavior == SplitBehavior::contiguous ? stretch.matched == before : stretch.matched && !before;
    before = stretch.matched;
    if (!joins || merged.empty()) {
      merged.push_back(stretch);
    } else if (backwards) {
      merged.back().begin = stretch.begin;
    } else {
      merged.back().end = stretch.end;
    }
  }
  if (backwards) {
    std::ranges::reverse(merged);
  }
  for (const Stretch& stretch : merged) {
    cut(piece.begin + stretch.begin, piece.begin + stretch.end);
  }
}

void split_by_pattern(Pieces& pieces, const Pattern& pattern, SplitBehavior behavior, MatchRole role) {
  PieceCutter cutter(pieces);
  for (const Piece& piece : pieces.list) {
    if (piece.token != Piece::kNoToken) {
      cutter.keep(piece);
      continue;
    }
    pieces.matches.clear();
    pattern.find_all(pieces.view(piece), pieces.matches);
    cutter.cut_at(piece, pieces.matches, behavior, role);
  }
}

}  // namespace heed::huggingface
