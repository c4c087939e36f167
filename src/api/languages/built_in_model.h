// The files of the classifier of languages, in the program itself.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heed {

struct BuiltInFile {
  std::string_view name, bytes;
};

// Those of src/api/languages/model/.
std::span<const BuiltInFile> language_model_files();

}  // namespace heed
