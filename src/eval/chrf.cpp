#include "eval/chrf.h"

#include <algorithm>

#include "base/errors.h"
#include "eval/ngrams.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr double kBeta = 2.0;

using Order = ChrfStatistics::Order;

// One side of the comparison.
struct Side {
  std::vector<uint32_t> characters, words;
};

Side side_of(const std::string& text, WordOrder words, WordNumbers& numbers) {
  Side side;
  std::string dense;
  dense.reserve(text.size());
  for (const std::string_view word : split_at_white_space(text)) {
    dense.append(word);
  }
  const std::u32string code_points = to_code_points(dense);
  side.characters.assign(code_points.begin(), code_points.end());
  if (words == WordOrder::two) {
    side.words = numbers(split_punctuation(text));
  }
  return side;
}

Order compare(const NGramCounts& n_grams) {
  Order order;
  order.reference = n_grams.total(1);
  order.hypothesis = order.reference > 0 ? n_grams.total(0) : 0;
  const std::span<const int64_t> hypothesis = n_grams.counts(0), reference = n_grams.counts(1);
  for (size_t i = 0; i < hypothesis.size(); ++i) {
    order.matches += std::min(hypothesis[i], reference[i]);
  }
  return order;
}

ChrfStatistics compare(const Side& hypothesis, const Side& reference) {
  ChrfStatistics statistics;
  auto order = statistics.orders.begin();
  NGramCounts characters({hypothesis.characters, reference.characters});
  for (size_t n = 0; n < kCharacterOrder; ++n) {
    characters.advance();
    *order++ = compare(characters);
  }
  NGramCounts words({hypothesis.words, reference.words});
  for (size_t n = 0; n < kMaxWordOrder; ++n) {
    words.advance();
    *order++ = compare(words);
  }
  return statistics;
}

}  // namespace

ChrfStatistics& ChrfStatistics::operator+=(const ChrfStatistics& other) {
  for (size_t n = 0; n < orders.size(); ++n) {
    orders[n].hypothesis += other.orders[n].hypothesis;
    orders[n].reference += other.orders[n].reference;
    orders[n].matches += other.orders[n].matches;
  }
  return *this;
}

double chrf(const ChrfStatistics& statistics) {
  double precision = 0.0, recall = 0.0;
  int64_t counted = 0;
  for (const Order& order : statistics.orders) {
    if (order.hypothesis > 0 && order.reference > 0) {
      precision += static_cast<double>(order.matches) / static_cast<double>(order.hypothesis);
      recall += static_cast<double>(order.matches) / static_cast<double>(order.reference);
      ++counted;
    }
  }
  if (precision + recall == 0.0) {
    return 0.0;
  }
  precision /= static_cast<double>(counted);
  recall /= static_cast<double>(counted);
  constexpr double kSquare = kBeta * kBeta;
  return 100.0 * ((1.0 + kSquare) * precision * recall / (kSquare * precision + recall));
}

ChrfStatistics chrf_statistics(std::string_view hypothesis, Lines references, WordOrder words, LetterCase letters) {
  require(!references.empty(), "chrf", "no references");
  // The numbered words refer to these.
  const std::string text = in_case(hypothesis, letters);
  std::vector<std::string> others;
  others.reserve(references.size());

  WordNumbers numbers;
  const Side side = side_of(text, words, numbers);
  ChrfStatistics best;
  double best_score = -1.0;
  for (const std::string& reference : references) {
    others.push_back(in_case(reference, letters));
    const ChrfStatistics statistics = compare(side, side_of(others.back(), words, numbers));
    const double score = chrf(statistics);
    if (score > best_score) {
      best_score = score;
      best = statistics;
    }
  }
  return best;
}

std::vector<ChrfStatistics> chrf_statistics(Lines hypotheses, References references, WordOrder words,
                                            LetterCase letters, const Interruption& interruption) {
  require_same_lines(hypotheses, references, "chrf");
  std::vector<ChrfStatistics> statistics;
  statistics.reserve(hypotheses.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    require_uninterrupted(state_of(interruption), "chrf");
    statistics.push_back(chrf_statistics(hypotheses[i], references_of(references, i), words, letters));
  }
  return statistics;
}

double chrf(Lines hypotheses, References references, WordOrder words, LetterCase letters) {
  return chrf(sum_of(chrf_statistics(hypotheses, references, words, letters)));
}

}  // namespace heed
