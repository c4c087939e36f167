#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/draft_options.h"
#include "cli/standard_output.h"
#include "cli/translator_options.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

constexpr size_t kLinesAtOnce = 1000;  // lines translated together: enough to batch them by length

struct TranslateOptions {
  ModelOptions model;
  TranslationOptions translation;
  DraftOptions drafts;
  bool scores = false;
};

std::string in_pharaoh_format(const std::vector<AlignedPair>& alignment) {
  std::string text;
  for (const AlignedPair& pair : alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.source, pair.target);
  }
  return text;
}

// A tab in a translation would look like the end of the column.
std::string without_tabs(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  return text;
}

bool has_alignments(const TranslateOptions& options) { return options.translation.alignments != Alignments::none; }

std::string one_best(const Translation& best, const TranslateOptions& options) {
  std::string line = options.scores || has_alignments(options) ? without_tabs(best.text) : best.text;
  if (options.scores) {
    line += fmt::format("\t{:.6f}", best.score);
  }
  if (has_alignments(options)) {
    line += "\t" + in_pharaoh_format(best.alignment);
  }
  return line + "\n";
}

std::string n_best(const std::vector<Translation>& translations, int64_t number, const TranslateOptions& options) {
  std::string lines;
  for (const Translation& translation : translations) {
    lines += fmt::format("{} ||| {} ||| {:.6f}", number, translation.text, translation.score);
    lines += has_alignments(options) ? fmt::format(" ||| {}\n", in_pharaoh_format(translation.alignment)) : "\n";
  }
  return lines;
}

void translate(const TranslateOptions& options) {
  const Translator translator(options.model.directory, options.model.translator, options.drafts);
  // Refuses options that make no sense before anyone has typed a line.
  translator.translate({}, options.translation);
  ArrivingLines input("-");
  int64_t number = 0;
  for (auto lines = input.next(kLinesAtOnce); !lines.empty(); lines = input.next(kLinesAtOnce)) {
    std::string text;
    for (const auto& translations :
         translator.translate(lines, options.translation, [&](size_t line) { return input.name(line); })) {
      text += options.translation.n_best > 1 ? n_best(translations, number, options)
                                             : one_best(translations.front(), options);
      ++number;
    }
    write_output(text);
    flush_output();
  }
  report_drafts(options.drafts, translator.drafts());
}

}  // namespace

Command translate_command() {
  const auto options = std::make_shared<TranslateOptions>();
  TranslationOptions& translation = options->translation;
  return {
      .name = "translate",
      .summary = "translate lines from standard input",
      .options = joined(
          {model_options(options->model),
           search_options(translation),
           {option("--n-best N", translation.n_best,
                   "translations per line, at most the beam width; above 1, lines are \"number ||| text ||| score\""),
            flag("--scores", options->scores, "add a column with the score, separated by a tab"),
            flag("--alignments", translation.alignments, Alignments::pieces,
                 "add a column with pairs of source and target tokens, such as 0-0 1-2")},
           draft_options(options->drafts)}),
      .run = [options] { translate(*options); },
      .footer = "Example:\n  heed translate --model model --beam 4 < test.de > translated.en",
  };
}

}  // namespace heed::cli
