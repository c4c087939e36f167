#include "eval/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/errors.h"
#include "eval/ngrams.h"

namespace heed {
namespace {

bool is_blank(std::string_view line) { return split_at_white_space(line).empty(); }

std::vector<uint32_t> numbered_13a(std::string_view text, LetterCase letters, std::vector<std::string>& texts,
                                   WordNumbers& numbers) {
  texts.push_back(tokenize_13a(in_case(text, letters)));
  return numbers(split_at_white_space(texts.back()));
}

int64_t closest_length(int64_t length, std::span<const int64_t> candidates) {
  return *std::ranges::min_element(
      candidates, {}, [length](int64_t candidate) { return std::pair(std::abs(candidate - length), candidate); });
}

}  // namespace

BleuStatistics& BleuStatistics::operator+=(const BleuStatistics& other) {
  hypothesis_length += other.hypothesis_length;
  reference_length += other.reference_length;
  for (size_t n = 0; n < kBleuOrder; ++n) {
    matches[n] += other.matches[n];
    totals[n] += other.totals[n];
  }
  return *this;
}

void require_same_lines(Lines hypotheses, References references, std::string_view where) {
  require(!references.empty(), where, "no references");
  for (size_t k = 0; k < references.size(); ++k) {
    require(references[k].size() == hypotheses.size(), where, "{} lines of hypotheses, but {} of reference {}",
            hypotheses.size(), references[k].size(), k + 1);
  }
}

std::vector<std::string> references_of(References references, size_t sentence) {
  std::vector<std::string> lines;
  for (const std::vector<std::string>& reference : references) {
    if (!is_blank(reference[sentence])) {
      lines.push_back(reference[sentence]);
    }
  }
  if (lines.empty()) {
    lines.emplace_back();
  }
  return lines;
}

BleuStatistics bleu_statistics(std::string_view hypothesis, Lines references, LetterCase letters) {
  require(!references.empty(), "bleu", "no references");
  std::vector<std::string> texts;  // owns the text that the numbered words refer to
  texts.reserve(references.size() + 1);
  WordNumbers numbers;
  std::vector<std::vector<uint32_t>> sequences{numbered_13a(hypothesis, letters, texts, numbers)};
  std::vector<int64_t> lengths;
  for (const std::string& reference : references) {
    sequences.push_back(numbered_13a(reference, letters, texts, numbers));
    lengths.push_back(static_cast<int64_t>(sequences.back().size()));
  }

  BleuStatistics statistics;
  statistics.hypothesis_length = static_cast<int64_t>(sequences.front().size());
  statistics.reference_length = closest_length(statistics.hypothesis_length, lengths);
  NGramCounts n_grams(std::move(sequences));
  for (size_t n = 0; n < kBleuOrder; ++n) {
    n_grams.advance();
    const std::span<const int64_t> counts = n_grams.counts(0);
    for (size_t i = 0; i < counts.size(); ++i) {
      int64_t most = 0;
      for (size_t k = 1; k <= references.size(); ++k) {
        most = std::max(most, n_grams.counts(k)[i]);
      }
      statistics.matches[n] += std::min(counts[i], most);
    }
    statistics.totals[n] = n_grams.total(0);
  }
  return statistics;
}

std::vector<BleuStatistics> bleu_statistics(Lines hypotheses, References references, LetterCase letters,
                                            const Interruption& interruption) {
  require_same_lines(hypotheses, references, "bleu");
  std::vector<BleuStatistics> statistics;
  statistics.reserve(hypotheses.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    require_uninterrupted(state_of(interruption), "bleu");
    statistics.push_back(bleu_statistics(hypotheses[i], references_of(references, i), letters));
  }
  return statistics;
}

BleuScore bleu(const BleuStatistics& statistics) {
  BleuScore result;
  const int64_t c = statistics.hypothesis_length, r = statistics.reference_length;
  result.hypothesis_length = c;
  result.reference_length = r;
  if (c < r) {
    result.brevity_penalty = c > 0 ? std::exp(1.0 - static_cast<double>(r) / static_cast<double>(c)) : 0.0;
  }
  if (std::ranges::all_of(statistics.matches, [](int64_t matches) { return matches == 0; })) {
    return result;
  }
  double smoothing = 1.0, log_sum = 0.0;
  size_t reached = 0;
  for (; reached < kBleuOrder && statistics.totals[reached] > 0; ++reached) {
    const double total = static_cast<double>(statistics.totals[reached]);
    double& precision = result.precisions[reached];
    if (statistics.matches[reached] > 0) {
      precision = 100.0 * static_cast<double>(statistics.matches[reached]) / total;
    } else {
      smoothing *= 2.0;
      precision = 100.0 / (smoothing * total);
    }
    log_sum += std::log(precision);
  }
  if (reached == kBleuOrder) {
    result.score = result.brevity_penalty * std::exp(log_sum / static_cast<double>(kBleuOrder));
  }
  return result;
}

BleuScore bleu(Lines hypotheses, References references, LetterCase letters) {
  return bleu(sum_of(bleu_statistics(hypotheses, references, letters)));
}

}  // namespace heed
