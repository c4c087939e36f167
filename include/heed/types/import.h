// Options and results of making a model directory from another program's model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/interruption.h"

namespace heed {

struct ImportOptions {
  std::string source;              // a directory or a file; which program wrote it follows from what it holds
  std::string output;              // the model directory to write
  Interruption interruption = {};  // InterruptedError, and nothing is left
};

struct ImportedModel {
  std::string family;  // "Llama"
  int64_t tensors = 0, bytes = 0;
  std::vector<std::string> notes;  // what was passed over
};

}  // namespace heed
