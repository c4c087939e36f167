// Given texts, and how likely a language model finds them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// A prompt, and texts that might continue it.
struct Continuations {
  std::string prompt;
  std::vector<std::string> texts;
};

struct TextScore {
  double log_probability = 0.0;  // of the tokens; natural logarithm
  int64_t tokens = 0;            // that were predicted
};

}  // namespace heed
