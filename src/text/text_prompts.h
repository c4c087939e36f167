// Prompts: texts that a model for embeddings reads before each text, to know what the embedding is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// Whether an embedding includes the prompt's tokens.
enum class PooledPrompt : uint8_t { no, yes };

struct TextPrompt {
  std::string name, text;

  bool operator==(const TextPrompt&) const = default;
};

struct TextPrompts {
  std::vector<TextPrompt> all = {};
  std::string chosen = {};  // the name of the one that is read unless another is asked for; empty: none
  PooledPrompt pooled = PooledPrompt::yes;

  bool operator==(const TextPrompts&) const = default;
};

}  // namespace heed
