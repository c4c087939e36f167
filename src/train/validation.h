// How good the weights are on text that they were not trained on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/text_translation.h"
#include "train/recipe.h"
#include "train/translation_data.h"

namespace heed {

struct ValidationScores {
  double loss = 0.0;  // negative log-likelihood per token, in nats
  std::optional<double> bleu;
};

// Sides longer than the model takes are cut. Pairs with an empty side count for BLEU alone. Where the loss is no number,
// nothing is translated.
ValidationScores validate(const TextTranslator& translator, const ValidationText& text, const ValidationRecipe& recipe);

}  // namespace heed
