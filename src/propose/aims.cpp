#include "propose/aims.h"

#include <limits>

namespace heed {
namespace {

constexpr double kSmaller = 1.0 / 3.0, kLarger = 1.7;
constexpr int64_t kFewSubwords = 2000;

bool is_small(const ProposalOptions& options) { return options.aim == Aim::speed || options.aim == Aim::size; }

}  // namespace

LearningRules rules_for(const ProposalOptions& options, LearningRules rules) {
  rules.parameters_per_token *= is_small(options) ? kSmaller : options.aim == Aim::quality ? kLarger : 1.0;
  return rules;
}

int64_t most_subwords(const ProposalOptions& options) {
  return options.aim == Aim::size ? kFewSubwords : std::numeric_limits<int64_t>::max();
}

void remark_on_aim(ReasonedRecipe& recipe, const ProposalOptions& options) {
  const bool translates = options.task == ProposedTask::translation;
  if (options.aim == Aim::speed) {
    recipe.remark(fmt::format(
        "For speed: a third of the parameters that the text would allow{}. When it is trained, heed quantize makes it "
        "int8{}.",
        translates ? ", most of them in the encoder, which reads a sentence once" : "",
        translates ? ", and heed shortlist spares most of the output projection" : ""));
  } else if (options.aim == Aim::size) {
    recipe.remark(
        fmt::format("For size: a third of the parameters that the text would allow, and at most {} subwords, whose "
                    "embeddings are a "
                    "good part of a small model. When it is trained, heed quantize makes it smaller again.",
                    kFewSubwords));
  } else if (options.aim == Aim::quality) {
    recipe.remark(fmt::format(
        "For quality: {:g} times the parameters that are usual for the text, if the time is enough for them.",
        kLarger));
  }
}

void add_translation_layers(ReasonedRecipe& recipe, const ProposalOptions& options, int64_t layers) {
  if (options.aim != Aim::speed) {
    recipe.set("encoder_layers", layers);
    recipe.set("decoder_layers", layers);
    return;
  }
  recipe.because("The decoder runs once for each token, the encoder once for each sentence: it takes the layers.");
  recipe.set("encoder_layers", 2 * layers - 1);
  recipe.set("decoder_layers", int64_t{1});
  recipe.because("A recurrence in the decoder looks back at one state, not at all tokens before.");
  recipe.set("autoregression", "ssru");
}

}  // namespace heed
