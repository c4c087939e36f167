#include "train/recipe/denoising_recipe.h"

#include <algorithm>
#include <utility>

#include "train/recipe/recipe_checks.h"
#include "train/tasks/denoising_task.h"

namespace heed {
namespace {

constexpr int64_t kMostSentinels = 10000;

}  // namespace

std::vector<SettingTable> DenoisingRecipe::settings() {
  SettingTable text = text_data_settings(data);
  text.settings.push_back(
      choice<NoiseKind>("noise", noise.kind, {{"spans", NoiseKind::spans}, {"infilling", NoiseKind::infilling}}));
  text.settings.push_back(setting("noise_share", noise.share));
  text.settings.push_back(setting("noise_length", noise.mean_length));
  SettingTable tokens = text_tokenizer_settings(tokenizer);
  tokens.settings.push_back(setting("sentinels", sentinels));
  tokens.settings.push_back(setting("mask", mask));
  return {std::move(text), std::move(tokens)};
}

void DenoisingRecipe::validate(const Recipe& recipe) const {
  check_text_data(data, recipe);
  noise.validate();
  check_text_tokenizer(tokenizer, data);
  check_between("tokenizer.sentinels", sentinels, {2, kMostSentinels});
  check(!mask.empty(), "tokenizer.mask is empty, expected how the mask token is written");
  check_at_least("data.context", data.batches.context, 2);
  check(data.batches.context + 2 <= recipe.model.max_length,
        "data.context is {} tokens, and a text has up to 2 more, but model.max_length is {}", data.batches.context,
        recipe.model.max_length);
}

std::vector<std::string> DenoisingRecipe::marks() const {
  if (noise.kind == NoiseKind::infilling) {
    return {mask};
  }
  std::vector<std::string> names;
  for (int64_t i = 0; i < sentinels; ++i) {
    names.push_back(fmt::format("<extra_id_{}>", i));
  }
  return names;
}

std::vector<int64_t> DenoisingRecipe::vocabulary_sizes() const {
  const int64_t size = TextRecipe::vocabulary_sizes().front();
  return {size, size};
}

Tokenizers DenoisingRecipe::make_tokenizers(const TextRules& text) const {
  TextTokenizerRecipe with_marks = tokenizer;
  std::vector<std::string>& symbols = with_marks.learned.user_symbols;
  for (const std::string& mark : marks()) {
    if (std::ranges::count(symbols, mark) == 0) {
      symbols.push_back(mark);
    }
  }
  const Tokenizers one = make_text_tokenizers(with_marks, text);
  return {one.front(), one.front()};
}

std::vector<int32_t> DenoisingRecipe::marks_in(const Tokenizer& of_run) const {
  std::vector<int32_t> tokens;
  for (const std::string& mark : marks()) {
    const std::optional<TokenId> found = of_run.find(show_piece(mark));
    require<ConfigError>(found.has_value(), noise.kind == NoiseKind::spans ? "tokenizer.sentinels" : "tokenizer.mask",
                         "the tokenizer has no token \"{}\": learn it with that text among its user symbols", mark);
    tokens.push_back(found->value);
  }
  return tokens;
}

std::unique_ptr<Task> DenoisingRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<DenoisingTask>(recipe, setup);
}

}  // namespace heed
