// Where the examples of a batch come from, for messages.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/errors.h"

namespace heed {

// "a.txt:3, a.txt:7, b.txt:1 and 12 more", by where(example).
template <class T, class Where>
std::string first_origins(std::span<const T> examples, Where where) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> named;
  for (const T& example : examples.first(std::min(examples.size(), kNamed))) {
    named.push_back(where(example));
  }
  const size_t more = examples.size() - named.size();
  return fmt::format("{}{}", fmt::join(named, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

// All of them, one per line.
template <class T, class Where>
std::string all_origins(std::span<const T> examples, Where where) {
  std::string list;
  for (const T& example : examples) {
    list += where(example) + "\n";
  }
  return list;
}

}  // namespace heed
