// Parts of pages that show several runs side by side.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/figures/html.h"
#include "report/run/metrics.h"
#include "report/run/task_metrics.h"
#include "train/recipe/recipe.h"

namespace heed {

struct ComparedRun {
  std::string name;
  RunMetrics metrics;
};

// A page without its content: title, style, and the words at its top. The page's end holds the data and the scripts.
struct PageHead {
  std::string_view kicker;
  std::string title, lead;
};
void begin_comparison(Html& page, const PageHead& head);
void end_comparison(Html& page, std::span<const ComparedRun> runs, const TaskMetrics& task);

// The curves of all over each other.
void write_compared_curves(Html& page, const TaskMetrics& task);
// Where the legend's colour of a run is shown.
std::string mark_of_run(size_t run);

// The settings that are not the same in all recipes, one value for each. A setting that only some have is "-".
struct ComparedSetting {
  std::string key;
  std::vector<std::string> values;
};
std::vector<ComparedSetting> differing_settings(std::span<const Recipe> recipes);
void write_differing_settings(Html& page, std::span<const ComparedSetting> settings,
                              std::span<const std::string> names);

// The data for the script, as JSON in which no HTML parser finds an end tag.
std::string comparison_data(std::span<const ComparedRun> runs, const TaskMetrics& task);

}  // namespace heed
