// Rules about what a model writes, whatever it finds likely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct WritingRules {
  int64_t min_length = 0;  // tokens of a text at least, its end included; 0 or 1: it may end at once
  // No run of this many tokens occurs twice, the prompt included; 0: no limit.
  int64_t no_repeat_ngram = 0;
  std::vector<std::string> suppress = {};  // texts that are never written
};

}  // namespace heed
