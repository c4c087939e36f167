#include "train/recipe/language_model_recipe.h"

#include <cmath>
#include <utility>

#include "train/recipe/recipe_checks.h"
#include "train/tasks/language_model_task.h"

namespace heed {
namespace {

SettingTable sample_settings(SampleRecipe& samples) {
  return {"validation",
          {setting("prompts", samples.prompts), setting("sample_tokens", samples.tokens),
           setting("temperature", samples.temperature)}};
}

Setting weights_setting(std::string name, std::vector<double>& weights) {
  return {std::move(name), SettingType::numbers,
          [&weights](const std::string&, const SettingValue& found) { weights = std::get<std::vector<double>>(found); },
          [&weights] { return fmt::format("[{}]", fmt::join(weights, ", ")); }};
}

Setting integers_setting(std::string name, std::vector<int64_t>& values) {
  return {std::move(name), SettingType::integers,
          [&values](const std::string&, const SettingValue& found) { values = std::get<std::vector<int64_t>>(found); },
          [&values] { return fmt::format("[{}]", fmt::join(values, ", ")); }};
}

void check_growth(const TextDataRecipe& data, const Recipe& recipe) {
  const auto& [updates, sequences, contexts] = data.growth;
  check(sequences.size() == updates.size() && contexts.size() == updates.size(),
        "data.growth_updates has {} numbers, data.growth_sequences {} and data.growth_context {}: each size needs one "
        "of each",
        updates.size(), sequences.size(), contexts.size());
  check(updates.empty() || data.batches.order == TextOrder::windows,
        "data.growth_updates needs data.order = \"windows\": a packed text is cut into sequences of one length");
  check(updates.empty() || (recipe.training.epochs == 0 && recipe.validation.every > 0),
        "data.growth_updates counts updates, and growing batches have no epochs: set training.updates or minutes, and "
        "validation.every, but not training.epochs");
  data.batch_rules().validate();
}

constexpr size_t kFarthestAhead = 8;

void check_ahead(const AheadRecipe& ahead, const Recipe& recipe) {
  check(ahead.weights.size() <= kFarthestAhead, "training.ahead has {} weights, expected at most {}",
        ahead.weights.size(), kFarthestAhead);
  for (const double weight : ahead.weights) {
    check(std::isfinite(weight) && weight >= 0.0, "training.ahead has {}, expected 0 or more", weight);
  }
  check_at_least("training.ahead_updates", ahead.updates, 0);
  check(ahead.updates == 0 || !ahead.weights.empty(), "training.ahead_updates has no effect without training.ahead");
  check(ahead.weights.empty() || recipe.distil.teacher.empty(),
        "training.ahead does not go with distil.teacher, which predicts the next token alone");
}

void check_weights(const TextDataRecipe& data) {
  double sum = 0.0;
  for (const double weight : data.weights) {
    check(std::isfinite(weight) && weight >= 0.0, "data.weights has {}, expected 0 or more", weight);
    sum += weight;
  }
  check(data.weights.empty() || data.weights.size() == data.train.size(),
        "data.weights has {} numbers for the {} files of data.train", data.weights.size(), data.train.size());
  check(data.weights.empty() || (std::isfinite(sum) && sum > 0.0), "the sum of data.weights is {}", sum);
}

}  // namespace

std::vector<SettingTable> LanguageModelRecipe::settings() {
  SettingTable text = text_data_settings(data);
  text.settings.push_back(weights_setting("weights", data.weights));
  text.settings.push_back(integers_setting("growth_updates", data.growth.updates));
  text.settings.push_back(integers_setting("growth_sequences", data.growth.sequences));
  text.settings.push_back(integers_setting("growth_context", data.growth.contexts));
  const SettingTable training{"training",
                              {weights_setting("ahead", ahead.weights), setting("ahead_updates", ahead.updates)}};
  return {std::move(text), text_tokenizer_settings(tokenizer), training, sample_settings(samples)};
}

void LanguageModelRecipe::validate(const Recipe& recipe) const {
  check_text_data(data, recipe);
  check_weights(data);
  check_growth(data, recipe);
  check_ahead(ahead, recipe);
  check_text_tokenizer(tokenizer, data);
  check_at_least("validation.sample_tokens", samples.tokens, 0);
  check_at_least("validation.temperature", samples.temperature, 0.0);
}

std::unique_ptr<Task> LanguageModelRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<LanguageModelTask>(recipe, setup);
}

}  // namespace heed
