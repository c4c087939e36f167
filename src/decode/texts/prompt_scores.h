// How likely a language model finds the tokens of prompts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/texts/text_generation.h"

namespace heed {

// See Generator::score_prompts(). `where(i)` names prompt i in messages. Throws for the prompts that generate_texts()
// throws for, and InterruptedError when the options' interruption comes first.
std::vector<std::vector<ScoredToken>> score_prompts(const TextGenerator& generator,
                                                    std::span<const std::string> prompts,
                                                    const GenerationOptions& options,
                                                    const std::function<std::string(size_t)>& where);

}  // namespace heed
