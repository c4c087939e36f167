// How likely a model found what it wrote, token by token.
#pragma once

#include <cstdint>
#include <string>

namespace heed {

enum class EachToken : uint8_t { left_out, listed };

struct ScoredToken {
  std::string piece;  // as the tokenizer shows it
  double log_probability = 0.0;
};

}  // namespace heed
