#include "models/encoder_only.h"

namespace heed {

EncoderOnly::EncoderOnly(const Scope& scope, const ModelConfig& config)
    : TokenModel(scope, config, config.source_vocabulary, scope / "encoder",
                 stack_shape(scope / "encoder", config, config.encoder_layers, Visibility::Reach::full)) {}

}  // namespace heed
