// Patterns of names: * stands for any characters, also none; everything else for itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

bool matches_pattern(std::string_view pattern, std::string_view name);

// The name that needs the fewest changed characters to match; the first of several. There must be one.
std::string_view nearest_to_pattern(std::string_view pattern, const std::vector<std::string_view>& names);

}  // namespace heed
