// What a model is to be best at, beside its quality in the given time.
#pragma once

#include "propose/model_sizes.h"
#include "propose/proposal.h"
#include "propose/reasoned_recipe.h"

namespace heed {

// A model for speed or size has a third of the parameters that the text would allow, one for quality 1.7 times as many.
LearningRules rules_for(const ProposalOptions& options, LearningRules rules);

// The same of subwords: their embeddings are a good part of a small model.
int64_t most_subwords(const ProposalOptions& options);

// Says at the top of the recipe what the aim changed, and what else serves it; nothing where there is none.
void remark_on_aim(ReasonedRecipe& recipe, const ProposalOptions& options);

// A translator's layers: for speed of decoding, most of them in the encoder, and a recurrence in the decoder.
void add_translation_layers(ReasonedRecipe& recipe, const ProposalOptions& options, int64_t layers);

}  // namespace heed
