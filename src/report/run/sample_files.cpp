#include "report/run/sample_files.h"

#include <algorithm>

#include "train/recipe/language_model_recipe.h"
#include "train/recipe/translation_recipe.h"

namespace heed {

SampleFiles sample_files(const std::string& source_file, const std::optional<Recipe>& recipe) {
  if (!source_file.empty()) {
    return {{source_file}, {}};
  }
  SampleFiles files;
  const TranslationRecipe* const translation = recipe ? recipe->find<TranslationRecipe>() : nullptr;
  for (size_t i = 0; translation != nullptr && i < translation->data.validation_source.size(); ++i) {
    const PairDataRecipe& data = translation->data;
    const std::filesystem::path source = data.validation_source[i];
    const bool paired = i < data.validation_target.size();
    if (!std::filesystem::is_regular_file(source)) {
      continue;
    }
    files.sources.push_back(source);
    if (paired && files.references.size() + 1 == files.sources.size() &&
        std::filesystem::is_regular_file(data.validation_target[i])) {
      files.references.emplace_back(data.validation_target[i]);
    }
  }
  return files;
}

std::optional<TextRules> passage_text(const std::string& source_file, const std::optional<Recipe>& recipe) {
  const LanguageModelRecipe* const own = recipe ? recipe->find<LanguageModelRecipe>() : nullptr;
  if (!source_file.empty()) {
    return TextRules{.files = {source_file}, .documents = own != nullptr ? own->data.documents : Documents::none};
  }
  if (own == nullptr || !own->has_validation_text()) {
    return std::nullopt;
  }
  const auto& files = own->data.validation.empty() ? own->data.train : own->data.validation;
  return are_there(files) ? text_split(own->data).validation : std::nullopt;
}

bool are_there(const std::vector<std::string>& files) {
  return std::ranges::all_of(files, [](const std::string& file) { return std::filesystem::is_regular_file(file); });
}

}  // namespace heed
