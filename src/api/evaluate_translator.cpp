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

// Translates the lines on all ranks; the first one gets all translations, their time and their tokens.
std::vector<std::string> translate_all(const Translator& translator, const std::vector<std::string>& sources,
                                       const EvaluationOptions& options, EvaluationReport& report) {
  const size_t window = lines_at_once(kWindow);
  std::vector<std::string> best;
  best.reserve(sources.size());
  size_t next = 0;
  const double start = seconds_now();
  share_work(
      {.next = [&]() -> std::optional<std::vector<std::string>> {
         const size_t begin = std::exchange(next, std::min(next + window, sources.size()));
         return begin < next ? std::optional(std::vector{std::to_string(begin), std::to_string(next)}) : std::nullopt;
       },
       .work =
           [&](const std::vector<std::string>& chunk) {
             const size_t begin = std::stoul(chunk[0]), end = std::stoul(chunk[1]);
             const auto translated = translator.translate(
                 std::span(sources).subspan(begin, end - begin), options.translation,
                 [&](size_t line) { return fmt::format("{}:{}", options.source, begin + line + 1); });
             std::vector<std::string> results;
             results.reserve(2 * translated.size());
             for (const std::vector<Translation>& translations : translated) {
               results.push_back(translations.front().text);
               results.push_back(std::to_string(translations.front().tokens));
             }
             return results;
           },
       .take =
           [&](const std::vector<std::string>& results) {
             for (size_t i = 0; i < results.size(); i += 2) {
               best.push_back(results[i]);
               report.target_tokens += std::stoll(results[i + 1]);
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
