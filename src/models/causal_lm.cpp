#include "models/causal_lm.h"

namespace heed {

CausalLM::CausalLM(const Scope& scope, const ModelConfig& config, const StageRanges& layers)
    : TokenModel(scope, config, config.target_vocabulary, scope / "decoder",
                 stack_shape(scope / "decoder", config, Stack::decoder), layers.decoder) {}

}  // namespace heed
