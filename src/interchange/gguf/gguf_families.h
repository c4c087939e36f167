// The families of models in GGUF files: how each writes its settings and names its tensors.
#pragma once

#include <string_view>

#include "interchange/gguf/gguf_settings.h"

namespace heed {

struct GgufFamilyModel {
  ModelConfig config;
  ForeignNames names;
};

struct GgufFamily {
  std::string_view architecture;  // "general.architecture"
  std::string_view name;          // for people
  GgufFamilyModel (*read)(GgufSettings& settings, const TensorArchive& archive);
};

// FormatError, naming those that heed reads, for any other.
const GgufFamily& gguf_family_of(const GgufSettings& settings);

}  // namespace heed
