// The path of the repository.
#pragma once

#include <filesystem>

namespace heed::test {

std::filesystem::path source_root();

}  // namespace heed::test
