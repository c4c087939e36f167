// BLEU (Papineni et al., 2002) as sacreBLEU computes it: 13a tokenization, orders 1 to 4, exponential smoothing.
//   BLEU = BP exp(mean of log p_n)     BP = min(1, exp(1 - r / c))
//   p_n  = 100 matches_n / totals_n, or where nothing matches 100 / (2^k totals_n), for the k-th such order
// An n-gram of a hypothesis matches at most as often as it occurs in any one of its references; r sums, over the
// sentences, the reference length closest to the hypothesis's, the shorter one in a tie; c sums the hypotheses'
// lengths.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/interruption.h"
#include "eval/words.h"
#include "heed/types/evaluation.h"

namespace heed {

// The statistics that BLEU needs of a sentence; those of a corpus are their sum.
struct BleuStatistics {
  int64_t hypothesis_length = 0, reference_length = 0;  // words; of the closest reference
  std::array<int64_t, kBleuOrder> matches{}, totals{};  // n-grams

  BleuStatistics& operator+=(const BleuStatistics& other);
  bool operator==(const BleuStatistics&) const = default;
};

// Sentences against their references; references[k] holds reference k of every sentence. Blank references are ignored
// when a sentence has another one. ShapeError when there is no reference or the numbers of lines differ; FormatError
// for text that is not UTF-8; InterruptedError when the interruption comes before the last sentence.
using Lines = std::span<const std::string>;
using References = std::span<const std::vector<std::string>>;

BleuStatistics bleu_statistics(std::string_view hypothesis, Lines references, LetterCase letters);
std::vector<BleuStatistics> bleu_statistics(Lines hypotheses, References references, LetterCase letters,
                                            const Interruption& interruption = {});

// The statistics of a corpus, from those of its sentences.
template <class Statistics>
Statistics sum_of(const std::vector<Statistics>& sentences) {
  Statistics sum;
  for (const Statistics& sentence : sentences) {
    sum += sentence;
  }
  return sum;
}

// A corpus's score. All orders count, so a text without four words scores 0.
BleuScore bleu(const BleuStatistics& statistics);
BleuScore bleu(Lines hypotheses, References references, LetterCase letters);

// ShapeError as above.
void require_same_lines(Lines hypotheses, References references, std::string_view where);

// The references of one sentence that are not ignored; an empty one if all are blank.
std::vector<std::string> references_of(References references, size_t sentence);

}  // namespace heed
