// The form of model that llama.cpp calls gpt2: layer norms before sublayers and at the end, learned positions, GELU by
// tanh, biases everywhere but in the output projection.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "interchange/gguf.h"
#include "models/config.h"

namespace heed {

// ConfigError, naming `where` and the setting, for a decoder-only model of another form.
void require_gpt2_form(const ModelConfig& config, const std::string& where);

// The model's sizes and constants.
std::vector<GgufEntry> gpt2_entries(const ModelConfig& config);

// The file's weights, by llama.cpp's names, matrices in `type`, the table of positions in f32. They refer to the file.
// ConfigError for a matrix whose rows are not whole blocks of the type.
std::vector<GgufTensor> gpt2_tensors(const ModelConfig& config, const SafeTensors& stored, GgufType type);

}  // namespace heed
