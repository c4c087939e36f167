#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "cli/commands.h"
#include "cli/options/draft_options.h"
#include "cli/options/translator_options.h"
#include "cli/output/counted.h"
#include "cli/output/standard_output.h"
#include "heed/lines.h"
#include "heed/ranks.h"
#include "heed/translator.h"

namespace heed::cli {
namespace {

constexpr size_t kLinesAtOnce = 1000;  // lines translated together: enough to batch them by length

struct TranslateOptions {
  ModelOptions model;
  SearchChoice search;
  DraftOptions drafts;
  std::string input = "-", output = "-";
  std::string prefix, prefixes;  // the text; the file
  std::string shortlist;
  bool scores = false;
};

std::string in_pharaoh_format(const std::vector<AlignedPair>& alignment) {
  std::string text;
  for (const AlignedPair& pair : alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.source, pair.target);
  }
  return text;
}

std::string in_columns(const std::vector<ScoredToken>& tokens) {
  std::string text;
  for (const ScoredToken& token : tokens) {
    text += fmt::format("{}{}:{:.6f}", text.empty() ? "" : " ", token.piece, token.log_probability);
  }
  return text;
}

// A tab in a translation would look like the end of the column.
std::string without_tabs(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  return text;
}

bool has_alignments(const TranslateOptions& options) { return options.search.options.alignments != Alignments::none; }
bool has_token_scores(const TranslateOptions& options) { return options.search.options.each == EachToken::listed; }

std::string one_best(const Translation& best, const TranslateOptions& options) {
  const bool columns = options.scores || has_alignments(options) || has_token_scores(options);
  std::string line = columns ? without_tabs(best.text) : best.text;
  if (options.scores) {
    line += fmt::format("\t{:.6f}", best.score);
  }
  if (has_alignments(options)) {
    line += "\t" + in_pharaoh_format(best.alignment);
  }
  if (has_token_scores(options)) {
    line += "\t" + in_columns(best.each);
  }
  return line + "\n";
}

std::string n_best(const std::vector<Translation>& translations, int64_t number, const TranslateOptions& options) {
  std::string lines;
  for (const Translation& translation : translations) {
    lines += fmt::format("{} ||| {} ||| {:.6f}", number, translation.text, translation.score);
    lines += has_alignments(options) ? " ||| " + in_pharaoh_format(translation.alignment) : "";
    lines += has_token_scores(options) ? " ||| " + in_columns(translation.each) : "";
    lines += "\n";
  }
  return lines;
}

std::string input_name(const TranslateOptions& options) { return options.input == "-" ? "stdin" : options.input; }

// The prefixes of the lines, as they come: one for all, those of a file, or none.
class Prefixes {
 public:
  explicit Prefixes(const TranslateOptions& options)
      : text_(options.prefix), path_(options.prefixes), input_(input_name(options)) {
    if (!text_.empty() && !path_.empty()) {
      throw std::runtime_error("translate: --prefix and --prefixes: give one of them");
    }
    if (!path_.empty()) {
      for_each_line(path_, [&](const std::string& line, const std::string&) { of_lines_.push_back(line); });
    }
  }

  std::vector<std::string> next(size_t lines) {
    if (path_.empty()) {
      return text_.empty() ? std::vector<std::string>{} : std::vector<std::string>(lines, text_);
    }
    if (of_lines_.size() < next_ + lines) {
      throw std::runtime_error(fmt::format("{}: {}, but {} has more: each line needs a prefix, which may be empty",
                                           path_, counted(std::ssize(of_lines_), "line"), input_));
    }
    const auto first = of_lines_.begin() + static_cast<int64_t>(std::exchange(next_, next_ + lines));
    return {first, first + static_cast<int64_t>(lines)};
  }

  // Refuses prefixes that have no line.
  void finish() const {
    if (next_ < of_lines_.size()) {
      throw std::runtime_error(fmt::format("{}: {} lines, but {} has {}", path_, of_lines_.size(), input_, next_));
    }
  }

 private:
  std::string text_, path_, input_;
  std::vector<std::string> of_lines_;
  size_t next_ = 0;
};

// Lines, the number of the first, and a prefix for each line or none at all.
struct LineChunk {
  int64_t first = 0;
  std::vector<std::string> lines, prefixes;

  static constexpr auto members() { return std::tuple(&LineChunk::first, &LineChunk::lines, &LineChunk::prefixes); }
};

std::string translated(const Translator& translator, const TranslateOptions& options, const LineChunk& chunk) {
  std::string text;
  int64_t number = chunk.first;
  TranslationOptions translation = options.search.options;
  translation.prefixes = chunk.prefixes;
  const auto name = [&](size_t line) {
    return fmt::format("{}:{}", input_name(options), chunk.first + static_cast<int64_t>(line) + 1);
  };
  for (const auto& translations : translator.translate(chunk.lines, translation, name)) {
    text += options.search.options.n_best > 1 || options.search.options.alternatives > 0
                ? n_best(translations, number, options)
                : one_best(translations.front(), options);
    ++number;
  }
  return text;
}

// Where the translations go, on the first rank.
class Output {
 public:
  explicit Output(const TranslateOptions& options) {
    if (options.output != "-" && rank_of_job().is_first()) {
      file_.emplace(options.output, std::vector{options.input, options.prefixes});
    }
  }
  void write(const std::string& text) {
    if (file_) {
      file_->write(text);
    } else {
      write_output(text);
      flush_output();
    }
  }
  void finish() {
    if (file_) {
      file_->commit();
    }
  }

 private:
  std::optional<NewTextFile> file_;
};

void translate(TranslateOptions& options) {
  if (options.input == "-" && !rank_of_job().is_alone()) {
    throw std::runtime_error("translate: several ranks need --input FILE: only one of them receives standard input");
  }
  Prefixes prefixes(options);
  const Translator translator(options.model.directory, options.model.inference, options.drafts, options.shortlist);
  options.search.take_defaults(translator.with_defaults(options.search.options));
  // Refuses options that make no sense before anyone has typed a line.
  translator.translate({}, options.search.options);
  Output output(options);
  AvailableLines input(options.input);
  int64_t number = 0;
  share_work(SharedWork<LineChunk, std::string>{
      .next = [&]() -> std::optional<LineChunk> {
        LineChunk chunk{number, input.next(lines_at_once(kLinesAtOnce)), {}};
        chunk.prefixes = prefixes.next(chunk.lines.size());
        number += std::ssize(chunk.lines);
        return chunk.lines.empty() ? std::nullopt : std::optional(std::move(chunk));
      },
      .work = [&](const LineChunk& chunk) { return translated(translator, options, chunk); },
      .take = [&](const std::string& text) { output.write(text); }});
  if (rank_of_job().is_first()) {
    prefixes.finish();
    output.finish();
  }
  if (rank_of_job().is_alone()) {
    report_drafts(options.drafts, translator.drafts());
  }
}

}  // namespace

Command translate_command() {
  const auto options = std::make_shared<TranslateOptions>();
  TranslationOptions& translation = options->search.options;
  return {
      .name = "translate",
      .summary = "translate lines, from standard input or a file",
      .options = joined(
          {model_options(options->model),
           {option("--input FILE", options->input, "the lines to translate; -: standard input"),
            formerly("--output",
                     option("--out FILE", options->output, "where the translations go; -: standard output"))},
           search_options(options->search),
           language_options(translation.languages),
           {context_option(options->model), rotary_scaling_option(options->model)},
           {ensemble_option(options->model), cache_option(options->model), shortlist_option(options->shortlist),
            option("--n-best N", translation.n_best,
                   "translations per line, at most the beam width; above 1, lines are \"number ||| text ||| score\""),
            flag("--scores", options->scores, "add a column with the score, separated by a tab"),
            flag("--alignments", translation.alignments, Alignments::pieces,
                 "add a column with pairs of source and target tokens, such as 0-0 1-2"),
            flag("--token-scores", translation.each, EachToken::listed,
                 "add a column with each token's log-probability, such as A:-0.12 </s>:-0.01"),
            option("--groups N", translation.groups, "divide the beam into groups that find different translations"),
            needing("--groups",
                    option("--diversity A", translation.diversity,
                           "penalty of a token for each hypothesis in earlier groups that chose it in the same step")),
            option("--alternatives N", translation.alternatives,
                   "the best translation with each of the N likeliest tokens after the prefix, as an n-best list"),
            option("--force TEXT", translation.force,
                   "every translation contains this text; needs a beam larger than its number of tokens"),
            option("--prefix TEXT", options->prefix, "all translations begin with this text"),
            option("--prefixes FILE", options->prefixes, "a file with one prefix per input line")},
           draft_options(options->drafts)}),
      .processes = Processes::several,
      .run = [options] { translate(*options); },
      .footer = "Example:\n  heed translate --model model --beam 4 < test.de > translated.en",
  };
}

}  // namespace heed::cli
