#include "propose/language_proposal.h"

#include <cmath>

#include "base/errors.h"
#include "propose/aims.h"
#include "propose/fine_tuning.h"
#include "propose/recipe_parts.h"

namespace heed {
namespace {

constexpr LearningRules kLanguageModelRules{.parameters_per_token = 6.0, .tokens_per_parameter = 1.0, .passes = 10.0};
constexpr int64_t kLeastBytes = 20'000;
constexpr double kValidationShare = 0.1;
constexpr int64_t kTextBatchTokens = 2048, kContext = 128, kLongContext = 256;
constexpr int64_t kContextFrom = 512;  // of a model that somebody trained
constexpr double kTextPassesFrom = 3.0;
constexpr double kPeak = 0.006, kPeakOfLarge = 0.003;

struct LanguageFigures {
  TextFigures text;
  std::vector<SubwordFigures> vocabularies;
  double tokens = 0.0;
};

void add_language_data(ReasonedRecipe& recipe, const ProposalOptions& options, int64_t context) {
  recipe.set("train", options.text);
  if (options.validation.empty()) {
    recipe.because("The end of the text is kept to validate with.");
    recipe.set("validation_share", kValidationShare);
  } else {
    recipe.set("validation", options.validation);
  }
  recipe.set("context", context);
  recipe.set("order", "windows");
  recipe.set("batch_sequences", std::max<int64_t>(1, kTextBatchTokens / context));
}

ReasonedRecipe language_recipe(const ProposalOptions& options, const LanguageFigures& figures,
                               const SizeChoice& choice) {
  const ModelSize& size = choice.chosen.size;
  const int64_t context = size.width < kLargeWidth ? kContext : kLongContext;
  const ExpectedRun run = expected_run(choice, figures.tokens, kTextBatchTokens);
  ReasonedRecipe recipe;
  recipe.remark(fmt::format("{} lines, {} words, {} different ones, {} subwords.", figures.text.lines,
                            figures.text.words, figures.text.types, std::llround(figures.tokens)));
  remark_on_aim(recipe, options);
  recipe.table("model");
  recipe.set("architecture", "causal-lm");
  add_size(recipe, choice, rules_for(options, kLanguageModelRules), figures.tokens);
  recipe.set("decoder_layers", size.layers);
  recipe.set("max_length", context);
  recipe.because("The form of today's language models.");
  recipe.set("activation", "silu");
  recipe.set_flag("gated");
  recipe.set("positions", "rotary");
  recipe.set("norm", "rms");
  recipe.set("norm_placement", "pre");
  recipe.because("Normed queries and keys allow a higher rate.");
  recipe.set("qk_norm", "head");
  recipe.set("tie", "output");
  recipe.set("embedding_scale", "none");
  add_dropout(recipe, run);
  recipe.table("data");
  add_language_data(recipe, options, context);
  recipe.table("tokenizer");
  add_vocabulary(recipe, figures.vocabularies);
  recipe.table("optimizer");
  recipe.because("Muon learned most in a given time on every text that was tried.");
  recipe.set("kind", "muon");
  recipe.set("row_moments", 0.95);
  recipe.set("beta2", 0.95);
  recipe.set("weight_decay", 0.1);
  recipe.set("clip", 1.0);
  add_schedule(recipe, run, size.width < kLargeWidth ? kPeak : kPeakOfLarge, options.minutes);
  add_training(recipe, run, 0.0, options.minutes);
  recipe.table("validation");
  recipe.set("every", validation_every(run));
  recipe.table("checkpoints");
  recipe.set("final", "best");
  return recipe;
}

std::string continued_language_model(const ProposalOptions& options, const Lines& lines) {
  const double share = options.validation.empty() ? 1.0 - kValidationShare : 1.0;
  const auto context = [](int64_t max_length) { return std::min(kContextFrom, max_length); };
  return propose_fine_tuning(
      options, {.task = "language-model",
                .architecture = Architecture::causal_lm,
                .passes = kTextPassesFrom,
                .examples = std::ssize(lines),
                .tokens = [&](const Tokenizer& tokenizer) { return share * count_tokens(tokenizer, lines); },
                .add_model = {},
                .add_data = [&](ReasonedRecipe& recipe,
                                int64_t max_length) { add_language_data(recipe, options, context(max_length)); },
                .add_validation = {},
                .batch_tokens = kTextBatchTokens,
                .context = context});
}

}  // namespace

std::string propose_language_model(const ProposalOptions& options) {
  const Lines lines = read_text_lines(options.text);
  LanguageFigures figures{.text = figures_of(lines)};
  require_text_to_learn(figures.text, kLeastBytes, options);
  if (!options.from.empty()) {
    return continued_language_model(options, lines);
  }
  figures.vocabularies = choose_vocabulary({&lines}, {}, most_subwords(options));
  figures.tokens = static_cast<double>(figures.vocabularies.back().tokens) *
                   (options.validation.empty() ? 1.0 - kValidationShare : 1.0);
  const auto make = [&](const SizeChoice& choice) { return language_recipe(options, figures, choice); };
  const SizeChoice choice = choose_measured(language_model_sizes(), rules_for(options, kLanguageModelRules),
                                            figures.tokens, make, 0, options);
  require_time(options, {.tokens_per_second = choice.chosen.tokens_per_second,
                         .batch_tokens = static_cast<double>(kTextBatchTokens),
                         .validation_tokens = kValidationShare * figures.tokens});
  const ReasonedRecipe recipe = make(choice);
  require_valid(recipe, options);
  return recipe.toml();
}

}  // namespace heed
