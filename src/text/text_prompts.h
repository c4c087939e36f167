// Texts that a model of embeddings reads before each text: what it is asked to do with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// Whether an embedding is made of the prompt's tokens too.
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
