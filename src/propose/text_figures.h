// What a text is like, as far as a recipe depends on it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

using Lines = std::vector<std::string>;

// FormatError, naming the files, for text that is not UTF-8.
Lines read_text_lines(const std::vector<std::string>& files);

struct TextFigures {
  int64_t lines = 0, blank = 0;
  int64_t words = 0, types = 0;  // as white space divides them; different ones
  int64_t bytes = 0;
  bool has_capitals = false;  // lower case would change it
};
TextFigures figures_of(const Lines& lines);

struct PairFigures {
  int64_t blank = 0;    // with nothing on one side
  int64_t same = 0;     // equal on both sides
  int64_t uneven = 0;   // one side has more than three times as many words, and five more
  int64_t doubled = 0;  // that came before
};
PairFigures figures_of_pairs(const Lines& source, const Lines& target);

// The share of the running words of `lines` that `among` has too: about 1 where both are in one language.
double share_of_words(const Lines& lines, const Lines& among);

// How many of these lines are among those.
int64_t count_shared(const Lines& lines, const Lines& among);

// How a vocabulary divides a text.
struct SubwordFigures {
  int64_t vocabulary = 0, tokens = 0;  // of all lines
  int64_t median = 0, tenth = 0;       // occurrences of the median token, and of one that nine tenths exceed
};

// The largest of some sizes whose median token occurs at least 50 times, and nine tenths of them at least 20: rarer ones
// are not learned. None is larger than `most`. The figures of all that were tried, the chosen one last. Large texts are
// sampled.
std::vector<SubwordFigures> choose_vocabulary(const std::vector<const Lines*>& sides,
                                              const Normalization& normalization,
                                              int64_t most = std::numeric_limits<int64_t>::max());
// The tokens of each side by a vocabulary of that size, learned from all of them; large texts are sampled.
std::vector<double> count_tokens(const std::vector<const Lines*>& sides, const Normalization& normalization,
                                 int64_t vocabulary);
// The tokens of the longest line, its end not counted.
int64_t longest_line(const std::vector<const Lines*>& sides, const Lines& lines, const Normalization& normalization,
                     int64_t vocabulary);
// Tokens of these lines by a tokenizer that is there; large texts are sampled.
double count_tokens(const Tokenizer& tokenizer, const Lines& lines);

}  // namespace heed
