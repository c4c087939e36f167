// chrF (Popovic, 2015) and chrF++ (2017) as sacreBLEU computes them.
//   chrF = 100 (1 + b^2) P R / (b^2 P + R),  b = 2
// P and R are the shares of the hypothesis's and the reference's n-grams that match, averaged over the orders that both
// sides are long enough for: characters without white space, orders 1 to 6; for chrF++ also words, orders 1 and 2. With
// several references, each sentence uses the one that gives it the best score.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "eval/bleu.h"
#include "eval/words.h"

namespace heed {

enum class WordOrder : uint8_t { none = 0, two = 2 };  // chrF2, chrF2++

inline constexpr size_t kCharacterOrder = 6, kMaxWordOrder = 2;

// The statistics that chrF needs of a sentence; those of a corpus are their sum. Characters come first, then words,
// which stay 0 if they are not used.
struct ChrfStatistics {
  struct Order {
    int64_t hypothesis = 0, reference = 0, matches = 0;  // n-grams; hypothesis is 0 where the reference has none
    bool operator==(const Order&) const = default;
  };
  std::array<Order, kCharacterOrder + kMaxWordOrder> orders{};

  ChrfStatistics& operator+=(const ChrfStatistics& other);
  bool operator==(const ChrfStatistics&) const = default;
};

// As for BLEU.
ChrfStatistics chrf_statistics(std::string_view hypothesis, Lines references, WordOrder words, LetterCase letters);
std::vector<ChrfStatistics> chrf_statistics(Lines hypotheses, References references, WordOrder words,
                                            LetterCase letters, const Interruption& interruption = {});

// 0 to 100, of a sentence or a corpus.
double chrf(const ChrfStatistics& statistics);
double chrf(Lines hypotheses, References references, WordOrder words, LetterCase letters);

}  // namespace heed
