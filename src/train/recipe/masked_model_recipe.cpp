#include "train/recipe/masked_model_recipe.h"

#include <algorithm>

#include "train/recipe/recipe_checks.h"
#include "train/tasks/masked_model_task.h"

namespace heed {

std::vector<SettingTable> MaskedModelRecipe::settings() {
  SettingTable text = text_data_settings(data);
  text.settings.push_back(flag("pairs", data.columns, TextColumns::one, TextColumns::pair));
  text.settings.push_back(setting("mask_share", masking.chosen));
  text.settings.push_back(setting("mask_token_share", masking.masked));
  text.settings.push_back(setting("random_token_share", masking.random));
  text.settings.push_back(flag("whole_words", masking.unit, MaskUnit::tokens, MaskUnit::words));
  SettingTable tokens = text_tokenizer_settings(tokenizer);
  tokens.settings.push_back(setting("mask", mask));
  return {std::move(text), std::move(tokens), {"validation", {setting("samples", samples)}, {}}};
}

void MaskedModelRecipe::validate(const Recipe& recipe) const {
  check_text_data(data, recipe);
  masking.validate();
  check_text_tokenizer(tokenizer, data);
  const bool has_pairs = data.columns == TextColumns::pair;
  check(!has_pairs || (data.documents == Documents::lines && data.borders == DocumentBorders::kept),
        "data.pairs needs data.documents = \"line\", and no data.cross_documents: each line is a pair of texts");
  check(!has_pairs || recipe.model.token_types != 1,
        "model.token_types is 1, but data.pairs tells two types apart: set it to 2, or to 0 for none");
  check(recipe.model.head == Head::tokens, "the task masked-lm needs model.head \"tokens\"");
  check(!mask.empty(), "tokenizer.mask is empty, expected how the mask token is written");
  check_at_least("validation.samples", samples, 0);
}

Tokenizers MaskedModelRecipe::make_tokenizers(const TextRules& text) const {
  TextTokenizerRecipe with_mask = tokenizer;
  std::vector<std::string>& symbols = with_mask.learned.user_symbols;
  if (std::ranges::count(symbols, mask) == 0) {
    symbols.push_back(mask);
  }
  return make_text_tokenizers(with_mask, text);
}

TokenId MaskedModelRecipe::mask_in(const Tokenizer& of_run) const {
  const std::optional<TokenId> found = of_run.find(show_piece(mask));
  require<ConfigError>(found.has_value(), "tokenizer.mask",
                       "the tokenizer has no token \"{}\": learn it with that text among its user symbols, or set "
                       "tokenizer.mask to the text of its mask token",
                       mask);
  return *found;
}

std::unique_ptr<Task> MaskedModelRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<MaskedModelTask>(recipe, setup);
}

}  // namespace heed
