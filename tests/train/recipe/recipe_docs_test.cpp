#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>

#include "base/system/files.h"
#include "source_root.h"
#include "train/recipe/translation_recipe.h"
#include "train/stages/staged_recipe.h"
#include "train/tasks/tasks.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = test::source_root();

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.push_back(it->str(1));
  }
  return found;
}

std::optional<double> as_number(const std::string& text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// The default column of a page: a row of several keys has one value for all, or one for each.
std::map<std::string, std::string> documented_defaults(const std::string& page) {
  std::map<std::string, std::string> defaults;
  for (const std::string& line : split(page, "\n")) {
    const std::vector<std::string> cells = split(line, " | ");
    const std::vector<std::string> keys = matches(cells[0], "`([a-z]+\\.[a-z0-9_]+)`");
    if (!line.starts_with("| `") || keys.empty() || cells.size() < 2) {
      continue;
    }
    const std::string value = cells[1].ends_with(" |") ? cells[1].substr(0, cells[1].size() - 2) : cells[1];
    const std::vector<std::string> values = split(value, ", ");
    for (size_t i = 0; i < keys.size(); ++i) {
      defaults[keys[i]] = values.size() == keys.size() ? values[i] : value;
    }
  }
  return defaults;
}

// The keys of every task's recipes, each once.
std::vector<SettingTable> all_settings() {
  static std::vector<Recipe> recipes;
  recipes.clear();
  std::vector<SettingTable> all;
  for (const TaskKind& kind : task_kinds()) {
    recipes.push_back(default_recipe(kind));
  }
  for (Recipe& recipe : recipes) {
    for (SettingTable& table : recipe_settings(recipe)) {
      auto known = std::ranges::find(all, table.name, &SettingTable::name);
      if (known == all.end()) {
        all.push_back({table.name, {}, {}});
        known = all.end() - 1;
      }
      for (Setting& setting : table.settings) {
        if (std::ranges::find(known->settings, setting.name, &Setting::name) == known->settings.end()) {
          known->settings.push_back(std::move(setting));
        }
      }
    }
  }
  return all;
}

TEST(RecipeDocs, NameEveryKey) {
  const std::string page = read_file(kRoot / "docs" / "recipes.md");
  for (const SettingTable& table : all_settings()) {
    EXPECT_NE(page.find("## [" + table.name + "]"), std::string::npos) << table.name;
    for (const Setting& setting : table.settings) {
      EXPECT_NE(page.find("`" + table.name + "." + setting.name + "`"), std::string::npos)
          << table.name << "." << setting.name;
    }
  }
}

TEST(RecipeDocs, GiveTheDefaultOfEveryKey) {
  const auto documented = documented_defaults(read_file(kRoot / "docs" / "recipes.md"));
  size_t keys = 0;
  for (const SettingTable& table : all_settings()) {
    for (const Setting& setting : table.settings) {
      const std::string key = table.name + "." + setting.name, value = setting.show();
      SCOPED_TRACE(key);
      ++keys;
      ASSERT_TRUE(documented.contains(key));
      const std::string& said = documented.at(key);
      if (const auto number = as_number(value)) {
        EXPECT_EQ(as_number(said), number) << said;  // 5e-4 is 0.0005
      } else {
        EXPECT_EQ(said, value);
      }
    }
  }
  EXPECT_EQ(documented.size(), keys) << "the page has rows of keys that no recipe has";
}

TEST(RecipeDocs, PagesThatRecipesAndSourcesNameExist) {
  size_t named = 0;
  for (const char* folder : {"recipes", "src", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (!entry.is_regular_file()) {
        continue;
      }
      const std::string text = read_file(entry.path());
      if (text.find("docs/") == std::string::npos) {
        continue;  // regular expressions are slow
      }
      for (const std::string& page : matches(text, "(docs/[a-z/-]+\\.md)")) {
        ++named;
        EXPECT_TRUE(fs::exists(kRoot / page)) << entry.path() << " names " << page;
      }
    }
  }
  EXPECT_GT(named, 0U);
}

TEST(RecipeDocs, ATextWithoutAModelIsNotARecipe) {
  try {
    parse_recipe("[training]\nepochs = 1\n", "r.toml", {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "r.toml: there is no [model] table");
  }
}

TEST(RecipeDocs, EveryRecipeOfTheProjectIsValid) {
  for (const fs::path& file : test::recipes_of_repository()) {
    SCOPED_TRACE(file);
    if (has_stages(file.string())) {
      EXPECT_NO_THROW(StagedRecipe(file.string(), {}, "run"));
      continue;
    }
    const Recipe recipe = parse_recipe(read_file(file), file.string(), {});
    const TranslationRecipe* const translation = recipe.find<TranslationRecipe>();
    if (translation == nullptr || !translation->data.train_source.empty()) {
      EXPECT_NO_THROW(recipe.validate_for_new_run());
    }
  }
}

}  // namespace
}  // namespace heed
