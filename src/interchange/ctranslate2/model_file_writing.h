// model.bin of a CTranslate2 directory, binary version 6, as it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/interruption.h"
#include "interchange/archive/foreign_type.h"

namespace heed {

struct CTranslate2Variable {
  std::string name;
  ForeignType type;
  std::vector<int64_t> shape;  // empty for a scalar
  std::function<std::vector<std::byte>()> bytes;
};

using CTranslate2Aliases = std::vector<std::pair<std::string, std::string>>;  // a name, and the variable's

// The file is complete or does not exist. Returns its bytes. ConfigError for a variable of 4 GiB or more, which the
// format cannot hold, InterruptedError when the interruption comes before the last one.
int64_t write_ctranslate2_file(const std::filesystem::path& path, const std::vector<CTranslate2Variable>& variables,
                               const CTranslate2Aliases& aliases, const Interruption& interruption = {});

}  // namespace heed
