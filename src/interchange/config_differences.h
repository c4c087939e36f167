// Where two configurations make different models.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"

namespace heed {

// A setting by which the models differ, as a recipe gives it: `norm = "layer"` of the first, `"rms"` of the second.
struct SettingDifference {
  std::string setting, other;
};

// Leaves out settings that the models do not read, that only training reads, or that mean the same in other words.
std::vector<SettingDifference> config_differences(const ModelConfig& a, const ModelConfig& b);

}  // namespace heed
