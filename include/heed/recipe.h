// The settings of a recipe.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace heed {

using RecipeValue = std::variant<int64_t, double, bool, std::string, std::vector<std::string>, std::vector<int64_t>,
                                 std::vector<double>>;

struct RecipeSetting {
  std::string key;  // "model.heads"
  RecipeValue value;
  bool is_given = false;  // by the file or an override; otherwise the value is what is assumed
};

// All settings that a recipe of this task has, in the order of their tables. Names of files are as training would open
// them. ConfigError and FormatError, with file and line, for what is no recipe: an unknown key, a value of another type.
std::vector<RecipeSetting> settings_of_recipe(const std::string& file, const std::vector<std::string>& overrides = {});

}  // namespace heed
