// Learning a tokenizer from text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "text/normalization.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace heed {

// What each kind makes of it:
//   bpe, unigram  SentencePiece's trainers; characters outside the coverage are spelled in bytes
//   wordpiece     starts from characters and joins, again and again, the pair a, b of pieces that raises the text's
//                 likelihood under a model of independent pieces most: n(ab) log(N n(ab) / (n(a) n(b)))
//   word          the words that occur at least minimum_count times, most frequent first
//   char          the same of characters, with the line break among them
//   byte          nothing: there are 256 of them
struct TokenizerTraining {
  TokenizerKind kind = TokenizerKind::bpe;
  int64_t vocabulary = 0;  // at most; all tokens count. 0: as many as there are (word, char and byte alone)
  Normalization normalization;
  SpecialTexts special;
  std::vector<std::string> user_symbols;  // one token each, wherever they stand in the text
  int64_t minimum_count = 0;              // of a word (2 when it is 0), a character (1) or a wordpiece's pair (2)
  int64_t sample_lines = 5'000'000;  // of bpe and unigram, which hold them in memory: drawn evenly where there are more
  double coverage = 0.0;             // of all characters by those in the vocabulary: 0.9995 when it is 0, of char 1
};

// Gives the next line, without its end, or returns false when there is none.
using LineSource = std::function<bool(std::string& line)>;

// The same lines give the same tokenizer, to the byte. ConfigError for what is impossible or does not apply to the kind;
// FormatError for a line that is not UTF-8.
std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerTraining& training, const LineSource& lines);

}  // namespace heed
