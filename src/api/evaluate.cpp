#include "heed/evaluate.h"

#include <fmt/format.h>

#include <utility>

#include "base/errors.h"
#include "data/lines/line_reader.h"
#include "eval/bleu.h"
#include "eval/bootstrap.h"
#include "eval/chrf.h"
#include "heed/version.h"

namespace heed {
namespace {

constexpr std::string_view kHypotheses = "hypotheses";
constexpr int64_t kMaxSamples = 1'000'000;

std::vector<std::string> read_as_many(const std::string& path, size_t expected) {
  std::vector<std::string> lines = read_lines({path});
  require<FormatError>(lines.size() == expected, path, "{} lines, but {} lines of {}", lines.size(), expected,
                       kHypotheses);
  return lines;
}

// "1", or "var" when some sentences have fewer references than others because of blank lines.
std::string reference_count(const std::vector<std::vector<std::string>>& references) {
  const size_t first = references_of(references, 0).size();
  for (size_t i = 1; i < references.front().size(); ++i) {
    if (references_of(references, i).size() != first) {
      return "var";
    }
  }
  return std::to_string(first);
}

// Scores with one metric: `statistics_of` some lines, `score` of their sum.
template <class StatisticsOf, class Score>
auto score_with(std::string_view metric, const TranslationTexts& texts, const TranslationScoreOptions& options,
                std::vector<PairedComparison>& comparisons, StatisticsOf statistics_of, Score score) {
  const auto statistics = statistics_of(texts.hypotheses);
  using Statistics = typename decltype(statistics)::value_type;
  if (!texts.baseline.empty()) {
    const std::vector<Statistics> baseline = statistics_of(texts.baseline);
    const BootstrapSamples samples{statistics.size(), options.samples, options.seed};
    const PairedScores paired = paired_bootstrap<Statistics>(statistics, baseline, samples, score);
    comparisons.push_back({.metric = std::string(metric),
                           .system = {paired.a, interval_of(paired.samples_a)},
                           .baseline = {paired.b, interval_of(paired.samples_b)},
                           .p_value = paired.p_value()});
  }
  return sum_of(statistics);
}

std::string signature(const std::string& head, std::string_view metric) {
  return fmt::format("{}|{}|version:heed-{}", head, metric, version());
}

}  // namespace

TranslationTexts read_translation_texts(std::vector<std::string> hypotheses, const TranslationFiles& files) {
  const size_t sentences = hypotheses.size();
  TranslationTexts texts{.hypotheses = std::move(hypotheses), .references = {}, .baseline = {}};
  for (const std::string& path : files.references) {
    texts.references.push_back(read_as_many(path, sentences));
  }
  if (!files.baseline.empty()) {
    texts.baseline = read_as_many(files.baseline, sentences);
  }
  return texts;
}

TranslationScores score_translations(const TranslationTexts& texts, const TranslationScoreOptions& options) {
  require<ConfigError>(!texts.references.empty(), "bleu", "no references");
  require<ConfigError>(options.samples >= 1 && options.samples <= kMaxSamples, "bleu", "{} samples, expected 1 to {}",
                       options.samples, kMaxSamples);
  require<FormatError>(!texts.hypotheses.empty(), kHypotheses, "no lines");

  const LetterCase letters = options.letters;
  TranslationScores scores;
  scores.sentences = static_cast<int64_t>(texts.hypotheses.size());
  const auto bleu_of = [&](Lines lines) {
    return bleu_statistics(lines, texts.references, letters, options.interruption);
  };
  scores.bleu = bleu(score_with("BLEU", texts, options, scores.comparisons, bleu_of,
                                [](const BleuStatistics& s) { return bleu(s).score; }));
  const auto score_chrf = [&](std::string_view name, WordOrder words) {
    const auto statistics_of = [&](Lines lines) {
      return chrf_statistics(lines, texts.references, words, letters, options.interruption);
    };
    return chrf(score_with(name, texts, options, scores.comparisons, statistics_of,
                           [](const ChrfStatistics& s) { return chrf(s); }));
  };
  scores.chrf2 = score_chrf("chrF2", WordOrder::none);
  scores.chrf2pp = score_chrf("chrF2++", WordOrder::two);

  const std::string head =
      fmt::format("nrefs:{}{}|case:{}", reference_count(texts.references),
                  texts.baseline.empty() ? "" : fmt::format("|bs:{}|seed:{}", options.samples, options.seed),
                  letters == LetterCase::lower ? "lc" : "mixed");
  scores.bleu_signature = signature(head, "eff:no|tok:13a|smooth:exp");
  scores.chrf2_signature = signature(head, "eff:yes|nc:6|nw:0|space:no");
  scores.chrf2pp_signature = signature(head, "eff:yes|nc:6|nw:2|space:no");
  return scores;
}

}  // namespace heed
