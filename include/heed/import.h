// Making a model directory of heed's from another program's model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct ImportOptions {
  std::string source;  // a directory or a file; which program wrote it follows from what it holds
  std::string output;  // the model directory to write
};

struct ImportedModel {
  std::string family;  // "Llama"
  int64_t tensors = 0, bytes = 0;
  std::vector<std::string> notes;  // what was passed over
};

// Every command reads such models as they are; an own directory is smaller to keep, and begins training and quantizing
// without the source. Matrices keep their floating type. FormatError for what the model needs and heed lacks.
ImportedModel import_model(const ImportOptions& options);

}  // namespace heed
