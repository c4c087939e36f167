#include "heed/recipe.h"

#include <map>

#include "base/system/files.h"
#include "train/recipe/recipe.h"

namespace heed {
namespace {

using Values = std::map<std::string, SettingValue>;

// Settings of the same names, which keep what they are set to in `values`.
std::vector<SettingTable> keeping(std::vector<SettingTable> tables, Values& values) {
  for (SettingTable& table : tables) {
    for (Setting& setting : table.settings) {
      const std::string key = table.name + "." + setting.name;
      setting.set = [&values, key](const std::string&, const SettingValue& value) { values[key] = value; };
    }
  }
  return tables;
}

}  // namespace

std::vector<RecipeSetting> settings_of_recipe(const std::string& file, const std::vector<std::string>& overrides) {
  Recipe recipe = read_recipe(file, overrides);
  const std::vector<SettingTable> tables = recipe_settings(recipe);
  Values all, given;
  read_settings(to_toml(tables), file, keeping(tables, all));
  const std::vector<SettingTable> of_given = keeping(tables, given);
  read_settings(read_file(file), file, of_given);
  for (const std::string& assignment : overrides) {
    override_setting(assignment, of_given);
  }
  std::vector<RecipeSetting> settings;
  for (const SettingTable& table : tables) {
    for (const Setting& setting : table.settings) {
      const std::string key = table.name + "." + setting.name;
      if (const auto value = all.find(key); value != all.end()) {
        settings.push_back({key, value->second, given.contains(key)});
      }
    }
  }
  return settings;
}

}  // namespace heed
