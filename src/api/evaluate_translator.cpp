#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/errors.h"
#include "base/files.h"
#include "heed/evaluate.h"
#include "heed/lines.h"
#include "heed/translator.h"

namespace heed {
namespace {

constexpr size_t kWindow = 1000;  // lines translated at a time: enough to batch them by length

// Translates the lines; adds up time and tokens.
std::vector<std::string> translate_all(const Translator& translator, const std::vector<std::string>& sources,
                                       const EvaluationOptions& options, EvaluationReport& report) {
  std::vector<std::string> best;
  for (size_t begin = 0; begin < sources.size(); begin += kWindow) {
    const std::span window = std::span(sources).subspan(begin, std::min(kWindow, sources.size() - begin));
    const double start = seconds_now();
    const auto translated = translator.translate(window, options.translation, [&](size_t line) {
      return fmt::format("{}:{}", options.source, begin + line + 1);
    });
    report.seconds += seconds_now() - start;
    for (const std::vector<Translation>& translations : translated) {
      best.push_back(translations.front().text);
      report.target_tokens += translations.front().tokens;
    }
  }
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
  if (!options.output.empty()) {
    write_file(options.output, fmt::format("{}\n", fmt::join(translations, "\n")));
  }
  report.scores =
      score_translations({std::move(translations), {std::move(references)}, {}}, {.letters = options.letters});
  return report;
}

}  // namespace heed
