// What CTranslate2 calls a Transformer's variables.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "interchange/naming.h"
#include "models/config.h"

namespace heed {

inline constexpr std::string_view kCTranslate2Target = "decoder/embeddings/weight",
                                  kCTranslate2Projection = "decoder/projection/weight",
                                  kCTranslate2Bias = "decoder/projection/bias",
                                  kCTranslate2Source = "encoder/embeddings_0/weight";

inline constexpr std::array<std::pair<int, Activation>, 5> kCTranslate2Activations{{{0, Activation::relu},
                                                                                    {1, Activation::gelu_tanh},
                                                                                    {2, Activation::silu},
                                                                                    {3, Activation::gelu},
                                                                                    {5, Activation::tanh}}};

// `source_table` is the name of the sources' embeddings, which older files write without a number.
ForeignNames ctranslate2_names(const ModelConfig& config, std::string_view source_table);

}  // namespace heed
