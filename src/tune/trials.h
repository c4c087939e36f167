// What is tried: changes of a recipe's settings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/recipe/recipe.h"
#include "tune/rates.h"

namespace heed {

struct Change {
  std::string key, value;  // "schedule.peak", "0.002"

  std::string assignment() const { return key + "=" + value; }
  bool operator==(const Change&) const = default;
};
using Changes = std::vector<Change>;  // none: the recipe itself

std::string describe(const Changes& changes);  // "schedule.peak=0.002"; "the recipe"

// A setting and its values from "table.key=a,b,c". Commas in brackets or quotes do not part values. ConfigError for
// other forms, and for settings that make runs differ in what they are compared by: how long they are, their seed and
// how they are validated.
struct VariedSetting {
  std::string key;
  std::vector<std::string> values;
};
VariedSetting parse_varied(const std::string& text);

// All combinations of the values.
std::vector<Changes> combinations(std::span<const VariedSetting> varied);

// What is worth trying for a recipe, the most promising first: rates around its peak that the range allows, dropout,
// warm-up, and sizes of the model where runs are as long as the clock says.
std::vector<Changes> usual_changes(const Recipe& recipe, const RateRange& range);

// `count` of them, spread over all; in their order.
std::vector<Changes> spread(std::vector<Changes> all, size_t count);

}  // namespace heed
