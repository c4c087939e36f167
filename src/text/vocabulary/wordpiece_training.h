// WordPiece's vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct WordCount {
  std::string word;
  int64_t count = 0;
};

struct WordPieceTraining {
  size_t pieces = 0;          // at most
  int64_t minimum_count = 2;  // of a pair that is joined
  double coverage = 1.0;      // of all characters by the alphabet; words with others are left out
};

// The alphabet, most frequent first, then the joined pieces in the order of joining; continuations start with "##". The
// result depends on the order of words of equal count, so that order should be fixed.
std::vector<std::string> train_wordpiece(const std::vector<WordCount>& words, const WordPieceTraining& training);

}  // namespace heed
