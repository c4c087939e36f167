// What the parts of a model do, as facts for its drawing. They are escaped for HTML.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"

namespace heed {

using Facts = std::vector<std::string>;

// The value of a key of [model], without quotes.
std::string describe_setting(const ModelConfig& config, std::string_view key);

Facts embedding_facts(const ModelConfig& config);
Facts self_attention_facts(const ModelConfig& config, Stack stack);
Facts cross_attention_facts(const ModelConfig& config);
Facts feed_forward_facts(const ModelConfig& config);
Facts head_layer_facts(const ModelConfig& config);
// What is made of the last layer's output: scores of tokens, labels or a number.
Facts output_facts(const ModelConfig& config);
// "the next token", "one label of a text".
std::string describe_prediction(const ModelConfig& config);

}  // namespace heed
