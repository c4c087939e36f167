// Which family of Hugging Face's models a model of heed's is, if any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "interchange/huggingface/families/family.h"

namespace heed {

// The settings as the family writes them, and what it calls the tensors.
struct HuggingFaceForm {
  std::string type;         // "llama"
  nlohmann::json settings;  // of config.json
  ForeignNames names;
};

// The family that the model came from, or else the first whose reader finds the same model in what its writer wrote.
// ConfigError, naming `where` and the first setting that does not fit that family or, without one, the nearest family.
HuggingFaceForm huggingface_form_of(const ModelConfig& config, const ModelMarks& marks, const std::string& where);

}  // namespace heed
