#include "propose/translation_proposal.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/errors.h"
#include "base/system/files.h"
#include "propose/recipe_parts.h"

namespace heed {
namespace {

constexpr LearningRules kTranslationRules{.parameters_per_token = 4.5, .tokens_per_parameter = 6.0, .passes = 50.0};
constexpr size_t kLeastPairs = 200, kMostKept = 1000;  // lines; kept for validation
constexpr double kKeptShare = 0.05;
constexpr int64_t kBatchTokens = 2048, kLargeBatchTokens = 4096;

double rounded_down(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return std::floor(value / power) * power;
}

// 0.004 was best at a width of 128 after 1,000 updates of warm-up. Adam's steps shrink with the width; and after a short
// warm-up a high rate leaves a model that knows nothing but how frequent words are.
double peak_of(int64_t width, int64_t warmup) {
  const double share = std::sqrt(std::min(1.0, static_cast<double>(warmup) / 1000.0));
  return rounded_down(0.004 * std::min(1.0, 128.0 / static_cast<double>(width)) * share);
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
  double tokens = 0.0;  // of the target
  int64_t length = 0;   // of a sentence
  Normalization normalization;
};

TranslationFigures figures_of_translation(const TranslationText& text) {
  TranslationFigures figures{.source = figures_of(text.train.sources),
                             .target = figures_of(text.train.targets),
                             .pairs = figures_of_pairs(text.train.sources, text.train.targets),
                             .in_training = count_shared(text.validation.sources, text.train.sources)};
  const std::vector<const Lines*> sides{&text.train.sources, &text.train.targets};
  figures.vocabularies = choose_vocabulary(sides, figures.normalization);
  figures.tokens = static_cast<double>(
      count_tokens(sides, text.train.targets, figures.normalization, figures.vocabularies.back().vocabulary));
  const auto lines = static_cast<double>(std::max<int64_t>(1, figures.target.lines - figures.pairs.blank));
  figures.length = std::max<int64_t>(2, std::llround(figures.tokens / lines));
  return figures;
}

void remark_on(ReasonedRecipe& recipe, const TranslationText& text, const TranslationFigures& figures) {
  const auto& [source, target, pairs, in_training, vocabularies, tokens, length, normalization] = figures;
  recipe.remark(fmt::format("{} pairs: {} and {} words, {} and {} different ones, {:.1f} subwords in a sentence.",
                            source.lines, source.words, target.words, source.types, target.types,
                            tokens / static_cast<double>(std::max<int64_t>(1, target.lines))));
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

ReasonedRecipe translation_recipe(const TranslationText& text, const TranslationFigures& figures,
                                  const SizeChoice& choice, double minutes) {
  const ModelSize& size = choice.chosen.size;
  const int64_t batch = size.width < kLargeWidth ? kBatchTokens : kLargeBatchTokens;
  const ExpectedRun run = expected_run(choice, figures.tokens, batch);
  ReasonedRecipe recipe;
  remark_on(recipe, text, figures);
  recipe.table("model");
  recipe.set("architecture", "seq2seq");
  add_size(recipe, choice, kTranslationRules, figures.tokens);
  recipe.set("encoder_layers", size.layers);
  recipe.set("decoder_layers", size.layers);
  recipe.set("positions", "sinusoidal");
  recipe.set("norm_placement", "pre");
  recipe.because("Source and target share their subwords, and one table of embeddings serves both and the output.");
  recipe.set("tie", "all");
  add_dropout(recipe, run);
  recipe.set("max_length", int64_t{256});
  recipe.table("data");
  recipe.set("train_source", text.train.source);
  recipe.set("train_target", text.train.target);
  if (text.is_divided) {
    recipe.because(fmt::format("{} pairs of the text, one in {}, are kept for it.", text.validation.sources.size(),
                               (text.train.sources.size() + text.validation.sources.size()) /
                                   std::max<size_t>(1, text.validation.sources.size())));
  }
  recipe.set("validation_source", text.validation.source);
  recipe.set("validation_target", text.validation.target);
  recipe.set("max_length", int64_t{120});
  recipe.set("batch_target_tokens", batch);
  recipe.table("tokenizer");
  add_vocabulary(recipe, figures.vocabularies);
  recipe.set("normalization", name_of(figures.normalization));
  recipe.table("optimizer");
  recipe.set("kind", "adam");
  recipe.set("beta2", 0.98);
  recipe.set("weight_decay", 0.0);
  recipe.set("clip", 1.0);
  add_schedule(recipe, run, peak_of(size.width, warmup_of(run)), minutes);
  add_training(recipe, run, 0.1, minutes);
  recipe.table("validation");
  recipe.set("every", validation_every(run));
  recipe.set("beam", int64_t{1});
  recipe.set("best_by", "bleu");
  recipe.table("checkpoints");
  recipe.because("The rate ends low, so the last weights are the best.");
  recipe.set("final", "last");
  return recipe;
}

}  // namespace

std::string propose_translation(const ProposalOptions& options) {
  const TranslationText text = read_pairs(options);
  const TranslationFigures figures = figures_of_translation(text);
  const auto make = [&](const SizeChoice& choice) {
    return translation_recipe(text, figures, choice, options.minutes);
  };
  const SizeChoice choice =
      choose_measured(translation_sizes(), kTranslationRules, figures.tokens, make, figures.length, options);
  const ReasonedRecipe recipe = make(choice);
  require_valid(recipe, options);
  if (text.is_divided) {
    write_divided(text);
  }
  return recipe.toml();
}

}  // namespace heed
