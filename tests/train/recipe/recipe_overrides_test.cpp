#include <gtest/gtest.h>

#include <array>

#include "train/tasks/tasks.h"

namespace heed::test {
namespace {

// A value of each choice that is not its default.
constexpr std::array<std::string_view, 36> kOtherNames{
    "gelu",   "learned", "rms",        "post",   "output",   "none",     "nfkc",     "normal",    "truncate",
    "refuse", "skip",    "shuffled",   "word",   "adam",     "constant", "f32",      "loss",      "last",
    "line",   "windows", "matrices",   "linear", "lines",    "columns",  "parallel", "mean",      "number",
    "head",   "bf16",    "other text", "halves", "plus-one", "ssru",     "tanh",     "infilling", "zero"};

std::vector<std::string> candidates_for(const Setting& setting) {
  switch (setting.type) {
    case SettingType::integers:
      if (setting.show() == "[]") {
        return {"1,0"};
      }
      [[fallthrough]];
    case SettingType::integer:
      return {fmt::format("{}", std::stoll(setting.show()) + 1)};
    case SettingType::numbers:
      if (setting.show() == "[]") {
        return {"0.5,0.25"};
      }
      [[fallthrough]];
    case SettingType::number:
      return {fmt::format("{}", 0.5 * std::stod(setting.show()) + 0.125)};
    case SettingType::flag:
      return {setting.show() == "true" ? "false" : "true"};
    case SettingType::list:
      return {"one,two", "local:4"};
    case SettingType::text:
      return {kOtherNames.begin(), kOtherNames.end()};
  }
  return {};
}

void expect_each_key_to_be_reached(const TaskKind& kind) {
  const Recipe defaults = default_recipe(kind);
  const std::string plain = fmt::format("[model]\n[training]\ntask = \"{}\"\n", kind.name);
  Recipe copy = defaults;
  size_t keys = 0;
  for (const SettingTable& table : recipe_settings(copy)) {
    for (const Setting& setting : table.settings) {
      const std::string key = table.name + "." + setting.name;
      if (key == "training.task" || key == "model.architecture") {
        continue;  // decide which keys there are
      }
      if ((key == "model.head" && kind.name != "classify") ||
          (key == "model.token_types" && kind.architecture != Architecture::encoder)) {
        continue;  // of other tasks
      }
      if (key == "model.linear_feature" || key.starts_with("data.growth_") || key == "training.ahead_updates" ||
          key == "optimizer.row_moments") {
        continue;  // refused without linear attention, without each other and without Muon
      }
      std::vector<RecipeDifference> changed;
      for (const std::string& value : candidates_for(setting)) {
        try {
          changed = differences(defaults, parse_recipe(plain, "plain", {fmt::format("{}={}", key, value)}));
        } catch (const ConfigError&) {
          continue;  // no name of this choice
        }
        if (!changed.empty()) {
          break;
        }
      }
      ASSERT_EQ(changed.size(), 1U) << key;
      EXPECT_EQ(changed.front().key, key);
      ++keys;
    }
  }
  EXPECT_GT(keys, 60U);
}

TEST(RecipeOverrides, ReachEveryKey) {
  for (const TaskKind& kind : task_kinds()) {
    SCOPED_TRACE(kind.name);
    expect_each_key_to_be_reached(kind);
  }
}

}  // namespace
}  // namespace heed::test
