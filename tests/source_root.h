// The path of the repository, and of its recipes.
#pragma once

#include <filesystem>
#include <vector>

namespace heed::test {

std::filesystem::path source_root();

// Those in subfolders too, in order.
std::vector<std::filesystem::path> recipes_of_repository();

}  // namespace heed::test
