// How likely a language model finds given continuations of prompts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/texts/text_generation.h"
#include "heed/types/writing/continuations.h"

namespace heed {

// See Generator::score_continuations(). `where(i)` names the prompt of item i in messages.
std::vector<std::vector<TextScore>> score_continuations(const TextGenerator& generator,
                                                        std::span<const Continuations> items,
                                                        const GenerationOptions& options,
                                                        const std::function<std::string(size_t)>& where);

}  // namespace heed
