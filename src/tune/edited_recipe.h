// A recipe with other values of some settings, and everything else as it was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct EditedSetting {
  std::string table, key;
  std::string value;   // as TOML
  std::string reason;  // a comment behind it; may be empty
};

// Line by line: keys that are there get the value, others a line after the head of their table, and missing tables are
// added at the end. Lists over several lines are not understood: parse what comes out.
std::string edited_recipe(std::string_view toml, const std::vector<EditedSetting>& settings);

}  // namespace heed
