// The weights of a stored model by the names of another program, for a GGUF file.
#pragma once

#include <vector>

#include "interchange/gguf/gguf.h"
#include "interchange/naming.h"
#include "models/config.h"
#include "tensor_files/tensor_file.h"

namespace heed {

struct StoredForms {
  const TensorFile& floats;
  const TensorFile* integers = nullptr;  // what q8_0 takes from it as it is: bytes in groups
};

// Matrices in `type`; vectors and tables of positions in f32. They refer to the file, which they read when their turn
// comes. A tied output projection is written where the table of embeddings has a factor that llama.cpp does not apply
// after the look-up; otherwise llama.cpp finds it by itself. ConfigError for a matrix whose rows are not whole blocks
// of the type.
std::vector<GgufTensor> exported_weights(ForeignNames names, const ModelConfig& config, const Weights& weights,
                                         const StoredForms& stored, GgufType type);

}  // namespace heed
