#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/standard_input.h"
#include "cli/standard_output.h"
#include "cli/translator_options.h"

namespace heed::cli {
namespace {

constexpr size_t kWindow = 1000;  // lines translated together: enough to batch them by length

struct Options {
  ModelOptions model;
  TranslationOptions translation;
  bool scores = false, alignments = false;
};

std::string in_pharaoh_format(const std::vector<AlignedPair>& alignment) {
  std::string text;
  for (const AlignedPair& pair : alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.source, pair.target);
  }
  return text;
}

// A tab in a translation would pass for the end of the column.
std::string without_tabs(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  return text;
}

std::string one_best(const Translation& best, const Options& options) {
  std::string line = options.scores || options.alignments ? without_tabs(best.text) : best.text;
  if (options.scores) {
    line += fmt::format("\t{:.6f}", best.score);
  }
  if (options.alignments) {
    line += "\t" + in_pharaoh_format(best.alignment);
  }
  return line + "\n";
}

std::string n_best(const std::vector<Translation>& translations, int64_t number, const Options& options) {
  std::string lines;
  for (const Translation& translation : translations) {
    lines += fmt::format("{} ||| {} ||| {:.6f}", number, translation.text, translation.score);
    lines += options.alignments ? fmt::format(" ||| {}\n", in_pharaoh_format(translation.alignment)) : "\n";
  }
  return lines;
}

void translate(Options options) {
  options.translation.alignments = options.alignments ? Alignments::pieces : Alignments::none;
  const Translator translator(options.model.directory, options.model.translator);
  // Refuses options that make no sense before anybody has typed a line.
  translator.translate({}, options.translation);
  StandardInput input;
  int64_t number = 0;
  for (auto lines = input.next_lines(kWindow); !lines.empty(); lines = input.next_lines(kWindow)) {
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
}

}  // namespace

void add_translate(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("translate", "translate lines from standard input");
  const auto options = std::make_shared<Options>();
  options->model.add_to(*command);
  add_search_options(*command, options->translation);
  command
      ->add_option("--n-best", options->translation.n_best,
                   "translations of each line, at most the beam; more than 1: as \"number ||| text ||| score\"")
      ->capture_default_str();
  command->add_flag("--scores", options->scores, "a column with the score, behind a tab");
  command->add_flag("--alignments", options->alignments,
                    "a column with pairs of source and target token, such as 0-0 1-2");
  command->footer("Example:\n  heed translate --model model --beam 4 < test.de > translated.en");
  command->callback([options] { translate(*options); });
}

}  // namespace heed::cli
