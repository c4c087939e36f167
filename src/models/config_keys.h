// The keys of a recipe's [model] table: one list for reading, describing and suggesting.
#pragma once

#include "base/settings.h"
#include "models/config.h"

namespace heed {

// Bound to `config`, which must outlive it.
SettingTable model_settings(ModelConfig& config);

}  // namespace heed
