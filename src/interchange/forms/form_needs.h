// What a form of model that other programs run needs of a configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace heed {

// A setting, whether it has a value of the form, and which values those are.
struct FormNeed {
  std::string_view key;
  bool met;
  std::string_view needed;
};

// What every form needs: one stream of residuals with norms before sublayers and at the end, full attention, no caps.
std::vector<FormNeed> needs_of_all_forms(const ModelConfig& config);

struct NamedForm {
  std::string_view name;
  std::vector<FormNeed> needs;
};

// ConfigError, naming `where`, the setting and the form, for the first need that is not met.
void require_form(const ModelConfig& config, const NamedForm& form, const std::string& where);

}  // namespace heed
