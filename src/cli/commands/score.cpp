#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options/translator_options.h"
#include "cli/output/standard_output.h"
#include "heed/generator.h"
#include "heed/lines.h"
#include "heed/translator.h"

namespace heed::cli {
namespace {

constexpr size_t kPairsAtOnce = 1000;

struct ScoreOptions {
  ModelOptions model;
  LanguagePair languages;
  std::string source, target, prompts, texts;
};

template <class Score>
std::string score_line(const Score& score) {
  return fmt::format("{:.6f}\t{}\n", score.log_probability, score.tokens);
}

// Reads the files completely before anything is written: they may turn out not to be parallel.
void score_pairs(const ScoreOptions& options) {
  const Translator translator(options.model.directory, options.model.inference);
  std::vector<std::string> sources, targets;
  for_each_pair(options.source, options.target, [&](const std::string& source, const std::string& target, int64_t) {
    sources.push_back(source);
    targets.push_back(target);
  });
  std::string text;
  for (size_t begin = 0; begin < sources.size(); begin += kPairsAtOnce) {
    const size_t count = std::min(kPairsAtOnce, sources.size() - begin);
    const auto line_of = [begin](const std::string& path) {
      return [&path, begin](size_t line) { return fmt::format("{}:{}", path, begin + line + 1); };
    };
    for (const PairScore& pair : translator.score(
             {.sources = std::span(sources).subspan(begin, count), .targets = std::span(targets).subspan(begin, count)},
             {line_of(options.source), line_of(options.target)}, options.languages)) {
      text += score_line(pair);
    }
  }
  write_output(text);
}

// The tokens that the model predicts of a text without a prompt: not the first one, where nothing comes before that.
TextScore score_of(const std::vector<ScoredToken>& tokens) {
  TextScore score;
  for (const ScoredToken& token : tokens) {
    score.log_probability += token.log_probability;
    score.tokens += token.likeliest.empty() ? 0 : 1;
  }
  return score;
}

void score_texts(const ScoreOptions& options) {
  const Generator generator(options.model.directory, options.model.inference);
  std::vector<Continuations> items;
  if (options.prompts.empty()) {
    for_each_line(options.texts, [&](const std::string& text, const std::string&) { items.push_back({text, {}}); });
  } else {
    for_each_pair(options.prompts, options.texts, [&](const std::string& prompt, const std::string& text, int64_t) {
      items.push_back({prompt, {text}});
    });
  }
  const std::string& names = options.prompts.empty() ? options.texts : options.prompts;
  std::string output;
  for (size_t begin = 0; begin < items.size(); begin += kPairsAtOnce) {
    const auto some = std::span(items).subspan(begin, std::min(kPairsAtOnce, items.size() - begin));
    const auto name = [&](size_t i) { return fmt::format("{}:{}", names, begin + i + 1); };
    if (options.prompts.empty()) {
      std::vector<std::string> texts;
      std::ranges::transform(some, std::back_inserter(texts), &Continuations::prompt);
      for (const std::vector<ScoredToken>& tokens : generator.score_prompts(texts, {.likeliest = 1}, name)) {
        output += score_line(score_of(tokens));
      }
    } else {
      for (const std::vector<TextScore>& scores : generator.score_continuations(some, {}, name)) {
        output += score_line(scores.front());
      }
    }
  }
  write_output(output);
}

void score_files(const ScoreOptions& options) {
  const bool pairs = !options.source.empty() || !options.target.empty();
  if (pairs == !options.texts.empty() || (pairs && (options.source.empty() || options.target.empty()))) {
    throw std::runtime_error("score: give --source and --target, or for a language model --texts");
  }
  pairs ? score_pairs(options) : score_texts(options);
}

std::vector<Option> languages_of_pairs(ScoreOptions& options) {
  std::vector<Option> languages = language_options(options.languages);
  std::ranges::for_each(languages, [](Option& one) { one = needing("--source", one); });
  return languages;
}

}  // namespace

Command score_command() {
  const auto options = std::make_shared<ScoreOptions>();
  return {
      .name = "score",
      .summary = "print the log-probabilities and token counts of given translations or texts",
      .options = joined({model_options(options->model),
                         languages_of_pairs(*options),
                         {context_option(options->model), rotary_scaling_option(options->model),
                          cache_option(options->model), ensemble_option(options->model),
                          option("--source FILE", options->source, "of a translator: source sentences, one per line"),
                          option("--target FILE", options->target, "their translations, one per line"),
                          option("--texts FILE", options->texts, "of a language model: texts, one per line"),
                          needing("--texts", option("--prompts FILE", options->prompts,
                                                    "what each of them continues, one per line"))}}),
      .run = [options] { score_files(*options); },
  };
}

}  // namespace heed::cli
