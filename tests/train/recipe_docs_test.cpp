#include <gtest/gtest.h>

#include "base/files.h"
#include "train/recipe.h"

namespace heed {
namespace {

TEST(RecipeDocs, NameEveryKey) {
  const std::string page = read_file(std::filesystem::path(HEED_SOURCE_DIR) / "docs" / "recipes.md");
  Recipe recipe;
  for (const SettingTable& table : recipe_settings(recipe)) {
    EXPECT_NE(page.find("## [" + table.name + "]"), std::string::npos) << table.name;
    for (const Setting& setting : table.settings) {
      EXPECT_NE(page.find("`" + table.name + "." + setting.name + "`"), std::string::npos)
          << table.name << "." << setting.name;
    }
  }
}

TEST(RecipeDocs, EveryRecipeOfTheProjectIsValid) {
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(HEED_SOURCE_DIR) / "recipes")) {
    SCOPED_TRACE(entry.path());
    const Recipe recipe = parse_recipe(read_file(entry.path()), entry.path().string(), {});
    if (!recipe.data.train_source.empty()) {
      EXPECT_NO_THROW(recipe.validate());
    }
  }
}

}  // namespace
}  // namespace heed
