#include "propose/translation_proposal.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/errors.h"
#include "base/system/files.h"
#include "propose/aims.h"
#include "propose/both_ways.h"
#include "propose/fine_tuning.h"
#include "propose/recipe_parts.h"

namespace heed {
namespace {

constexpr LearningRules kTranslationRules{.parameters_per_token = 4.5, .tokens_per_parameter = 6.0, .passes = 50.0};
constexpr size_t kLeastPairs = 200, kMostKept = 1000;  // lines; kept for validation
constexpr double kKeptShare = 0.05;
constexpr int64_t kMaxLength = 120;             // tokens of a sentence: longer ones are left out
constexpr double kTranslationPassesFrom = 5.0;  // of a model that somebody trained
constexpr int64_t kBatchTokens = 2048, kLargeBatchTokens = 4096;
constexpr double kSmoothing = 0.1;

// 0.004 was best at a width of 128 after 1,000 updates of warm-up, and of 0.0012, 0.0025 and 0.004 at a width of 64 after
// 98 (docs/measurements/translation.md). Adam's steps shrink with the width; and after a short warm-up a high rate leaves
// a wide model that knows nothing but how frequent words are.
double peak_of(int64_t width, int64_t warmup) {
  // A run of so few updates that none of them warms up has a rate too.
  const double share = std::cbrt(std::clamp(static_cast<double>(warmup) / 1000.0, 0.001, 1.0));
  return rounded_down(0.004 * std::min(2.0, 128.0 / static_cast<double>(width)) * share);
}

struct Pairs {
  std::vector<std::string> source, target;  // files
  Lines sources, targets;
};

struct TranslationText {
  Pairs train, validation;
  bool is_divided = false;  // the validation text was kept back
};

void require_pairs(const Lines& source, const Lines& target, std::string_view what) {
  require<FormatError>(source.size() == target.size(), what, "{} lines on the source's side, but {} on the target's",
                       source.size(), target.size());
}

// Every n-th pair goes to the validation text.
TranslationText divided(Pairs all, const std::string& output) {
  const size_t lines = all.sources.size();
  require<FormatError>(lines >= kLeastPairs, "text",
                       "{} pairs are too few to keep some for validation: {} are needed, or "
                       "--validation with two files",
                       lines, kLeastPairs);
  const size_t kept = std::min(kMostKept, static_cast<size_t>(kKeptShare * static_cast<double>(lines)));
  const size_t step = lines / kept;
  const std::string stem = std::filesystem::path(output).replace_extension().string();
  TranslationText text{.train = {{stem + ".train.source"}, {stem + ".train.target"}, {}, {}},
                       .validation = {{stem + ".validation.source"}, {stem + ".validation.target"}, {}, {}},
                       .is_divided = true};
  for (const std::vector<std::string>* const inputs : {&all.source, &all.target}) {
    for (const Pairs* const pairs : {&text.train, &text.validation}) {
      require_other_file(pairs->source.front(), *inputs);
      require_other_file(pairs->target.front(), *inputs);
    }
  }
  for (size_t i = 0; i < lines; ++i) {
    const bool is_kept = i % step == step - 1 && text.validation.sources.size() < kept;
    Pairs& to = is_kept ? text.validation : text.train;
    to.sources.push_back(std::move(all.sources[i]));
    to.targets.push_back(std::move(all.targets[i]));
  }
  return text;
}

TranslationText read_pairs(const ProposalOptions& options) {
  Pairs train{options.source, options.target, read_text_lines(options.source), read_text_lines(options.target)};
  require_pairs(train.sources, train.targets, "the training text");
  if (options.validation.empty()) {
    return divided(std::move(train), options.output);
  }
  const std::vector<std::string> source{options.validation.at(0)}, target{options.validation.at(1)};
  Pairs validation{source, target, read_text_lines(source), read_text_lines(target)};
  require_pairs(validation.sources, validation.targets, "the validation text");
  require<FormatError>(!validation.sources.empty(), "the validation text", "has no lines");
  return {.train = std::move(train), .validation = std::move(validation)};
}

void write_lines(const std::string& file, const Lines& lines) {
  write_file(file, fmt::format("{}\n", fmt::join(lines, "\n")));
}

void write_divided(const TranslationText& text) {
  for (const Pairs* const pairs : {&text.train, &text.validation}) {
    write_lines(pairs->source.front(), pairs->sources);
    write_lines(pairs->target.front(), pairs->targets);
  }
}

struct TranslationFigures {
  TextFigures source, target;
  PairFigures pairs;
  int64_t in_training = 0;  // validation sources
  std::vector<SubwordFigures> vocabularies;
  PairTokens tokens;
  int64_t length = 0;  // of a target sentence
  Normalization normalization;
};

TranslationFigures figures_of_translation(const TranslationText& text, const ProposalOptions& options) {
  TranslationFigures figures{.source = figures_of(text.train.sources),
                             .target = figures_of(text.train.targets),
                             .pairs = figures_of_pairs(text.train.sources, text.train.targets),
                             .in_training = count_shared(text.validation.sources, text.train.sources)};
  require<FormatError>(figures.pairs.blank < figures.target.lines, "the training text",
                       "each of its {} pairs is blank on one side", figures.target.lines);
  const std::vector<const Lines*> sides{&text.train.sources, &text.train.targets};
  figures.vocabularies = choose_vocabulary(sides, figures.normalization, most_subwords(options));
  const std::vector<double> tokens = count_tokens(sides, figures.normalization, figures.vocabularies.back().vocabulary);
  figures.tokens = {.source = tokens.front(), .target = tokens.back()};
  const auto lines = static_cast<double>(std::max<int64_t>(1, figures.target.lines - figures.pairs.blank));
  figures.length = std::clamp<int64_t>(std::llround(figures.tokens.target / lines), 2, kMaxLength);
  return figures;
}

void remark_on(ReasonedRecipe& recipe, const TranslationText& text, const TranslationFigures& figures) {
  const auto& [source, target, pairs, in_training, vocabularies, tokens, length, normalization] = figures;
  recipe.remark(fmt::format("{} pairs: {} and {} words, {} and {} different ones, {:.1f} subwords in a sentence.",
                            source.lines, source.words, target.words, source.types, target.types,
                            tokens.target / static_cast<double>(std::max<int64_t>(1, target.lines))));
  const auto note = [&](int64_t count, std::string_view what) {
    if (count > 0) {
      recipe.remark(fmt::format("{} of them {}.", count, what));
    }
  };
  note(pairs.blank, "are blank on one side, and left out");
  note(pairs.same, "are the same on both sides: names and numbers, or lines that nobody translated");
  note(pairs.uneven, "have more than three times as many words on one side: they may not be translations");
  note(pairs.doubled, "came before, word by word");
  if (in_training > 0) {
    recipe.remark(fmt::format("{} of the {} validation sentences are in the training text: the scores are too good.",
                              in_training, text.validation.sources.size()));
  }
}

void add_training_pairs(ReasonedRecipe& recipe, const TranslationText& text) {
  recipe.set("train_source", text.train.source);
  recipe.set("train_target", text.train.target);
}

void add_other_data(ReasonedRecipe& recipe, const TranslationText& text, int64_t max_length, int64_t batch) {
  if (text.is_divided) {
    recipe.because(fmt::format("{} pairs of the text, one in {}, are kept for it.", text.validation.sources.size(),
                               (text.train.sources.size() + text.validation.sources.size()) /
                                   std::max<size_t>(1, text.validation.sources.size())));
  }
  recipe.set("validation_source", text.validation.source);
  recipe.set("validation_target", text.validation.target);
  recipe.set("max_length", max_length);
  recipe.set("batch_target_tokens", batch);
}

// A model of some size that learns from these tokens, in so many passes.
struct ModelReasons {
  const SizeChoice& choice;
  LearningRules rules;
  double tokens;
  ExpectedRun run;
};

void add_translator(ReasonedRecipe& recipe, const ProposalOptions& options, const ModelReasons& reasons) {
  recipe.table("model");
  recipe.set("architecture", "seq2seq");
  add_size(recipe, reasons.choice, reasons.rules, reasons.tokens);
  add_translation_layers(recipe, options, reasons.choice.chosen.size.layers);
  recipe.set("positions", "sinusoidal");
  recipe.set("norm_placement", "pre");
  recipe.because("Source and target share their subwords, and one table of embeddings serves both and the output.");
  recipe.set("tie", "all");
  add_dropout(recipe, reasons.run);
  recipe.set("max_length", int64_t{256});
}

void add_tokenizer_and_optimizer(ReasonedRecipe& recipe, const TranslationFigures& figures) {
  recipe.table("tokenizer");
  add_vocabulary(recipe, figures.vocabularies);
  recipe.set("normalization", name_of(figures.normalization));
  recipe.table("optimizer");
  recipe.set("kind", "adam");
  recipe.set("beta2", 0.98);
  recipe.set("weight_decay", 0.0);
  recipe.set("clip", 1.0);
}

void add_validation_and_checkpoints(ReasonedRecipe& recipe, std::optional<int64_t> every) {
  recipe.table("validation");
  if (every) {
    recipe.set("every", *every);
  }
  recipe.set("beam", int64_t{1});
  recipe.set("best_by", "bleu");
  recipe.table("checkpoints");
  recipe.because("The rate ends low, so the last weights are the best.");
  recipe.set("final", "last");
}

int64_t batch_for(const SizeChoice& choice) {
  return choice.chosen.size.width < kLargeWidth ? kBatchTokens : kLargeBatchTokens;
}

ReasonedRecipe one_way_recipe(const ProposalOptions& options, const TranslationText& text,
                              const TranslationFigures& figures, const SizeChoice& choice) {
  const int64_t batch = batch_for(choice);
  const double tokens = figures.tokens.target;
  const ExpectedRun run = expected_run(choice, tokens, batch);
  ReasonedRecipe recipe;
  remark_on(recipe, text, figures);
  remark_on_aim(recipe, options);
  add_translator(recipe, options,
                 {.choice = choice, .rules = rules_for(options, kTranslationRules), .tokens = tokens, .run = run});
  recipe.table("data");
  add_training_pairs(recipe, text);
  add_other_data(recipe, text, kMaxLength, batch);
  add_tokenizer_and_optimizer(recipe, figures);
  add_schedule(recipe, run, peak_of(choice.chosen.size.width, warmup_of(run)), options.minutes);
  add_training(recipe, run, kSmoothing, options.minutes);
  add_validation_and_checkpoints(recipe, validation_every(run));
  return recipe;
}

ReasonedRecipe both_ways_recipe(const ProposalOptions& options, const TranslationText& text,
                                const TranslationFigures& figures, const SizeChoice& choice) {
  const int64_t batch = batch_for(choice);
  const BothWaysRun run = both_ways_run(choice, figures.tokens, batch, options.minutes);
  ReasonedRecipe recipe;
  remark_on(recipe, text, figures);
  remark_on_aim(recipe, options);
  add_translator(recipe, options,
                 {.choice = choice,
                  .rules = rules_for(options, both_ways_rules(figures.tokens)),
                  .tokens = figures.tokens.both(),
                  .run = run.both});
  recipe.table("data");
  add_other_data(recipe, text, kMaxLength, batch);
  add_tokenizer_and_optimizer(recipe, figures);
  recipe.table("training");
  recipe.set("smoothing", kSmoothing);
  add_validation_and_checkpoints(recipe, std::nullopt);
  add_both_ways(recipe, run, choice.chosen.size.width, text.train.source, text.train.target);
  return recipe;
}

std::string continued_translation(const ProposalOptions& options, const TranslationText& text) {
  const auto max_length = [](int64_t of_model) { return std::min(kMaxLength, of_model - 1); };
  require<FormatError>(figures_of(text.train.targets).words > 0, "the training text", "has no words");
  return propose_fine_tuning(
      options, {.task = "translation",
                .architecture = Architecture::seq2seq,
                .passes = kTranslationPassesFrom,
                .smoothing = kSmoothing,
                .examples = std::ssize(text.train.sources),
                .tokens = [&](const Tokenizer& tokenizer) { return count_tokens(tokenizer, text.train.targets); },
                .add_model = {},
                .add_data =
                    [&](ReasonedRecipe& recipe, int64_t of_model) {
                      add_training_pairs(recipe, text);
                      add_other_data(recipe, text, max_length(of_model), kBatchTokens);
                    },
                .add_validation =
                    [](ReasonedRecipe& recipe) {
                      recipe.set("beam", int64_t{1});
                      recipe.set("best_by", "bleu");
                    },
                .batch_tokens = kBatchTokens});
}

std::string fresh_translation(const ProposalOptions& options, const TranslationText& text) {
  const TranslationFigures figures = figures_of_translation(text, options);
  const auto make = [&](const SizeChoice& choice) { return one_way_recipe(options, text, figures, choice); };
  const auto choose = [&](const LearningRules& rules, double tokens) {
    return choose_measured(translation_sizes(), rules_for(options, rules), tokens, make, figures.length, options);
  };
  if (suits_both_ways(text.train.sources, text.train.targets)) {
    const SizeChoice both_ways = choose(both_ways_rules(figures.tokens), figures.tokens.both());
    if (pays_both_ways(both_ways, figures.tokens)) {
      require_valid(make(both_ways), options);
      return both_ways_recipe(options, text, figures, both_ways).toml();
    }
  }
  const SizeChoice choice = choose(kTranslationRules, figures.tokens.target);
  const auto validated = static_cast<double>(figures.length) * static_cast<double>(text.validation.targets.size());
  require_time(options, {.tokens_per_second = choice.chosen.tokens_per_second,
                         .batch_tokens = static_cast<double>(kBatchTokens),
                         .validation_tokens = 3.0 * validated});  // they are written, too
  const ReasonedRecipe recipe = make(choice);
  require_valid(recipe, options);
  return recipe.toml();
}

}  // namespace

std::string propose_translation(const ProposalOptions& options) {
  const TranslationText text = read_pairs(options);
  std::string toml = options.from.empty() ? fresh_translation(options, text) : continued_translation(options, text);
  if (text.is_divided) {
    write_divided(text);
  }
  return toml;
}

}  // namespace heed
