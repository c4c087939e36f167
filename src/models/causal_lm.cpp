#include "models/causal_lm.h"

namespace heed {

CausalLM::CausalLM(const Scope& scope, const ModelConfig& config)
    : TokenModel(scope, config, config.target_vocabulary, scope / "decoder",
                 stack_shape(scope / "decoder", config, config.decoder_layers, Visibility::Reach::causal)) {}

}  // namespace heed
