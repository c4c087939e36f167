// The form of model that llama.cpp calls llama: RMS norms before sublayers and at the end, rotary positions, gated
// SiLU, heads of keys that several queries may share, no biases.
#pragma once

#include <string>
#include <vector>

#include "interchange/gguf/gguf.h"
#include "interchange/naming.h"
#include "models/config.h"

namespace heed {

// ConfigError, naming `where` and the setting, for a decoder-only model of another form.
void require_llama_form(const ModelConfig& config, const std::string& where);

// The model's sizes and constants.
std::vector<GgufEntry> llama_entries(const ModelConfig& config);

// llama.cpp's names.
ForeignNames llama_names();

}  // namespace heed
