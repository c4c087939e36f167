// Values that users choose by name.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"

namespace heed {

// ", did you mean 'word'?" for the candidate that was most likely meant: the closest of those that begin with the word
// or that the word begins with, or else the one with the smallest edit distance. Empty when none is close.
std::string suggest_name(std::string_view word, const std::vector<std::string_view>& candidates);

// The value of `name` in an array of (name, value). ConfigError lists the names.
template <class Names>
auto value_named(std::string_view what, std::string_view name, const Names& names) {
  for (const auto& [candidate, value] : names) {
    if (candidate == name) {
      return value;
    }
  }
  std::vector<std::string_view> candidates;
  std::ranges::transform(names, std::back_inserter(candidates), [](const auto& entry) { return entry.first; });
  fail<ConfigError>(what, "'{}' is not one of {}{}", name, fmt::format("{}", fmt::join(candidates, ", ")),
                    suggest_name(name, candidates));
}

}  // namespace heed
