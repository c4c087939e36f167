// The form of model that llama.cpp calls gpt2: layer norms before sublayers and at the end, learned positions, GELU by
// tanh, biases everywhere but in the output projection.
#pragma once

#include <string>
#include <vector>

#include "interchange/gguf/gguf.h"
#include "interchange/naming.h"
#include "models/config.h"

namespace heed {

// ConfigError, naming `where` and the setting, for a decoder-only model of another form.
void require_gpt2_form(const ModelConfig& config, const std::string& where);

// The model's sizes and constants.
std::vector<GgufEntry> gpt2_entries(const ModelConfig& config);

// llama.cpp's names.
ForeignNames gpt2_names();

}  // namespace heed
