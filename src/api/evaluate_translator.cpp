#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/system/clock.h"
#include "base/system/files.h"
#include "heed/evaluate.h"
#include "heed/lines.h"
#include "heed/ranks.h"
#include "heed/translator.h"

namespace heed {
namespace {

constexpr size_t kWindow = 1000;  // lines translated at a time: enough to batch them by length

struct LineRange {
  size_t begin = 0, end = 0;
  static constexpr auto members() { return std::tuple(&LineRange::begin, &LineRange::end); }
};
struct BestTranslation {
  std::string text;
  int64_t tokens = 0;
  static constexpr auto members() { return std::tuple(&BestTranslation::text, &BestTranslation::tokens); }
};
using BestTranslations = std::vector<BestTranslation>;

// Translates the lines on all ranks; the first one gets all translations, their time and their tokens.
std::vector<std::string> translate_all(const Translator& translator, const std::vector<std::string>& sources,
                                       const EvaluationOptions& options, EvaluationReport& report) {
  const size_t window = lines_at_once(kWindow);
  std::vector<std::string> best;
  best.reserve(sources.size());
  size_t next = 0;
  const double start = seconds_now();
  share_work(SharedWork<LineRange, BestTranslations>{
      .next = [&]() -> std::optional<LineRange> {
        const size_t begin = std::exchange(next, std::min(next + window, sources.size()));
        return begin < next ? std::optional(LineRange{begin, next}) : std::nullopt;
      },
      .work =
          [&](const LineRange& range) {
            BestTranslations results;
            for (const std::vector<Translation>& translations : translator.translate(
                     std::span(sources).subspan(range.begin, range.end - range.begin), options.translation,
                     [&](size_t line) { return fmt::format("{}:{}", options.source, range.begin + line + 1); })) {
              results.push_back({translations.front().text, translations.front().tokens});
            }
            return results;
          },
      .take =
          [&](const BestTranslations& results) {
            for (const BestTranslation& result : results) {
              best.push_back(result.text);
              report.target_tokens += result.tokens;
            }
          }});
  report.seconds = seconds_now() - start;
  return best;
}

}  // namespace

EvaluationReport evaluate(const Translator& translator, const EvaluationOptions& options) {
  EvaluationReport report{.scores = {}, .precision = translator.precision(), .threads = translator.threads()};
  require_other_file(options.output, {options.source, options.reference});
  std::vector<std::string> sources, references;
  for_each_pair(options.source, options.reference,
                [&](const std::string& source, const std::string& reference, int64_t) {
                  sources.push_back(source);
                  references.push_back(reference);
                });
  require<FormatError>(!sources.empty(), options.source, "no lines, so there is nothing to evaluate");
  std::vector<std::string> translations = translate_all(translator, sources, options, report);
  if (!rank_of_job().is_first()) {
    return report;
  }
  for (const std::string& source : sources) {
    report.candidates += static_cast<double>(translator.candidates(source)) / static_cast<double>(sources.size());
  }
  if (!options.output.empty()) {
    write_file(options.output, fmt::format("{}\n", fmt::join(translations, "\n")));
  }
  report.scores =
      score_translations({std::move(translations), {std::move(references)}, {}}, {.letters = options.letters});
  return report;
}

}  // namespace heed
