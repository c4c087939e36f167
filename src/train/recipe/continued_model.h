// The [model] of a recipe whose run begins from another model: what the recipe leaves out is that model's.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/model_directory.h"
#include "models/config.h"

namespace heed {

// The settings of the other model, for a model of the architecture of `defaults`. Those of a head or stack that the
// other model lacks are as in `defaults`; vocabularies and labels are left to the text.
ModelConfig continued_model(const ModelConfig& other, const ModelConfig& defaults);

// ConfigError, naming the recipe and the key, for a setting of `model` that differs from another program's model, whose
// weights have a meaning only in its own form. Models of heed may be changed: a line at the start of the run says what
// became of their weights.
void require_form_of(const ModelFolder& other, const ModelConfig& continued, const ModelConfig& model,
                     std::string_view recipe);

}  // namespace heed
