// The forms of models that llama.cpp has for Llama's kin: Qwen 2 and 3, Gemma 1 to 3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interchange/gguf/gguf.h"
#include "interchange/naming.h"
#include "models/config.h"

namespace heed {

enum class KinForm : uint8_t { qwen2, qwen3, gemma, gemma2, gemma3 };

// As llama.cpp names it.
std::string_view name_of(KinForm form);

// Which one a model with rotary positions comes nearest to; none: Llama's own.
std::optional<KinForm> kin_form_of(const ModelConfig& config);

// ConfigError, naming `where` and the setting, for what llama.cpp would compute in another way.
void require_kin_form(KinForm form, const ModelConfig& config, const std::string& where);

// The model's sizes and constants.
std::vector<GgufEntry> kin_entries(KinForm form, const ModelConfig& config);

// llama.cpp's names; they are the same for all. Columns that are rotated together are half a head apart.
ForeignNames kin_names(KinForm form);

}  // namespace heed
