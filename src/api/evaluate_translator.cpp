#include <algorithm>
#include <chrono>

#include "base/errors.h"
#include "base/files.h"
#include "data/line_reader.h"
#include "heed/translator.h"

namespace heed {
namespace {

constexpr size_t kWindow = 1000;  // lines translated at a time: enough to batch them by length

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Translates the lines; adds up time and tokens.
std::string translate_all(const Translator& translator, const std::vector<std::string>& sources,
                          const EvaluationOptions& options, EvaluationReport& report) {
  std::string text;
  for (size_t begin = 0; begin < sources.size(); begin += kWindow) {
    const std::span window = std::span(sources).subspan(begin, std::min(kWindow, sources.size() - begin));
    const double start = seconds_now();
    const auto translated = translator.translate(window, options.translation, [&](size_t line) {
      return fmt::format("{}:{}", options.source, begin + line + 1);
    });
    report.seconds += seconds_now() - start;
    for (const std::vector<Translation>& translations : translated) {
      text += translations.front().text + "\n";
      report.target_tokens += translations.front().tokens;
    }
  }
  return text;
}

}  // namespace

void read_pairs(const std::string& source, const std::string& target,
                const std::function<void(const std::string& source, const std::string& target, int64_t number)>& use) {
  LineReader sources(source), targets(target);
  const auto count_rest = [](LineReader& reader) {
    std::string line;
    while (reader.next(line)) {
    }
    return reader.line_number();
  };
  std::string left, right;
  while (true) {
    const bool more = sources.next(left);
    if (more != targets.next(right)) {
      const int64_t lines = count_rest(sources), expected = count_rest(targets);
      fail<FormatError>(source, "{} lines, but {} has {}: they must be parallel, line by line", lines, target,
                        expected);
    }
    if (!more) {
      return;
    }
    use(left, right, sources.line_number());
  }
}

EvaluationReport evaluate(const Translator& translator, const EvaluationOptions& options) {
  EvaluationReport report{.scores = {}, .precision = translator.precision(), .threads = translator.threads()};
  std::vector<std::string> sources;
  read_pairs(options.source, options.reference,
             [&](const std::string& source, const std::string&, int64_t) { sources.push_back(source); });
  require<FormatError>(!sources.empty(), options.source, "no lines, so there is nothing to evaluate");
  const std::string translations = translate_all(translator, sources, options, report);
  if (!options.output.empty()) {
    write_file(options.output, translations);
  }
  report.scores =
      score_translations(translations, {.references = {options.reference}, .letters = options.letters, .baseline = {}});
  return report;
}

}  // namespace heed
