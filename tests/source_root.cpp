#include "source_root.h"

#include <algorithm>

namespace heed::test {

std::filesystem::path source_root() { return HEED_SOURCE_DIR; }

std::vector<std::filesystem::path> recipes_of_repository() {
  std::vector<std::filesystem::path> recipes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() / "recipes")) {
    if (entry.path().extension() == ".toml") {
      recipes.push_back(entry.path());
    }
  }
  std::ranges::sort(recipes);
  return recipes;
}

}  // namespace heed::test
