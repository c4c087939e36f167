#include <cmath>

#include "base/errors.h"
#include "propose/aims.h"
#include "propose/encoder_proposal.h"
#include "propose/fine_tuning.h"
#include "propose/recipe_parts.h"

namespace heed {
namespace {

// Each pass teaches a model 15% of the tokens alone, and so it may read a text more often.
constexpr LearningRules kMaskedRules{.parameters_per_token = 4.5, .tokens_per_parameter = 6.0, .passes = 40.0};
constexpr int64_t kLeastMaskedBytes = 20'000, kMaskedContext = 128, kMaskedBatch = 2048;
constexpr double kMaskedShare = 0.1, kMaskedPassesFrom = 5.0;

struct MaskedFigures {
  TextFigures text;
  std::vector<SubwordFigures> vocabularies;
  double tokens = 0.0;
};

void add_masked_data(ReasonedRecipe& recipe, const ProposalOptions& options, int64_t context) {
  recipe.set("train", options.text);
  if (options.validation.empty()) {
    recipe.because("The end of the text is kept to validate with.");
    recipe.set("validation_share", kMaskedShare);
  } else {
    recipe.set("validation", options.validation);
  }
  recipe.because("Each line is a text of its own.");
  recipe.set("documents", "line");
  recipe.set("context", context);
  recipe.set("batch_sequences", std::max<int64_t>(1, kMaskedBatch / context));
}

ReasonedRecipe masked_recipe(const ProposalOptions& options, const MaskedFigures& figures, const SizeChoice& choice) {
  const ModelSize& size = choice.chosen.size;
  const ExpectedRun run = expected_run(choice, figures.tokens, kMaskedBatch);
  ReasonedRecipe recipe;
  recipe.remark(fmt::format("{} lines, {} words, {} different ones, {} subwords.", figures.text.lines,
                            figures.text.words, figures.text.types, std::llround(figures.tokens)));
  remark_on_aim(recipe, options);
  recipe.table("model");
  recipe.set("architecture", "encoder");
  add_size(recipe, choice, rules_for(options, kMaskedRules), figures.tokens);
  recipe.set("encoder_layers", size.layers);
  recipe.set("max_length", kMaskedContext);
  recipe.set("activation", "gelu");
  recipe.because(
      "Learned positions would have to be learned from few texts; rotations are there from the first update.");
  recipe.set("positions", "rotary");
  recipe.set("tie", "output");
  add_dropout(recipe, run);
  recipe.table("data");
  add_masked_data(recipe, options, kMaskedContext);
  recipe.because("Whole words are masked: a word's other pieces would give a piece away.");
  recipe.set_flag("whole_words");
  recipe.table("tokenizer");
  add_vocabulary(recipe, figures.vocabularies);
  add_schedule(recipe, run, encoder_peak(size.width, 0.002), options.minutes);
  add_training(recipe, run, 0.0, options.minutes);
  recipe.set("task", "masked-lm");
  recipe.table("validation");
  recipe.set("every", validation_every(run));
  recipe.table("checkpoints");
  recipe.because("The rate ends low, so the last weights are the best.");
  recipe.set("final", "last");
  return recipe;
}

std::string continued_masked_model(const ProposalOptions& options, const Lines& lines) {
  const double share = options.validation.empty() ? 1.0 - kMaskedShare : 1.0;
  const auto context = [](int64_t max_length) { return std::min(kMaskedContext, max_length); };
  return propose_fine_tuning(
      options, {.task = "masked-lm",
                .architecture = Architecture::encoder,
                .passes = kMaskedPassesFrom,
                .examples = std::ssize(lines),
                .tokens = [&](const Tokenizer& tokenizer) { return share * count_tokens(tokenizer, lines); },
                .add_model = {},
                .add_data = [&](ReasonedRecipe& recipe,
                                int64_t max_length) { add_masked_data(recipe, options, context(max_length)); },
                .add_validation = {},
                .batch_tokens = kMaskedBatch,
                .context = context});
}

}  // namespace

std::string propose_masked_model(const ProposalOptions& options) {
  const Lines lines = read_text_lines(options.text);
  MaskedFigures figures{.text = figures_of(lines)};
  require_text_to_learn(figures.text, kLeastMaskedBytes, options);
  if (!options.from.empty()) {
    return continued_masked_model(options, lines);
  }
  figures.vocabularies = choose_vocabulary({&lines}, {}, most_subwords(options));
  figures.tokens =
      static_cast<double>(figures.vocabularies.back().tokens) * (options.validation.empty() ? 1.0 - kMaskedShare : 1.0);
  const auto make = [&](const SizeChoice& choice) { return masked_recipe(options, figures, choice); };
  const SizeChoice choice =
      choose_measured(language_model_sizes(), rules_for(options, kMaskedRules), figures.tokens, make, 0, options);
  require_time(options, {.tokens_per_second = choice.chosen.tokens_per_second,
                         .batch_tokens = static_cast<double>(kMaskedBatch),
                         .validation_tokens = kMaskedShare * figures.tokens});
  const ReasonedRecipe recipe = make(choice);
  require_valid(recipe, options);
  return recipe.toml();
}

}  // namespace heed
