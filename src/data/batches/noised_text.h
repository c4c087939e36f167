// What an encoder-decoder learns from a text alone: to restore it from a text with noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "text/token_ids.h"

namespace heed {

// spans      each span of tokens becomes a sentinel of its own; the target has each sentinel with what it stands for,
//            and one more at the end (T5)
// infilling  each span, which may be empty, becomes the same mask token; the target is the text (BART)
enum class NoiseKind : uint8_t { spans, infilling };

struct NoiseRules {
  NoiseKind kind = NoiseKind::spans;
  double share = 0.15;       // of the tokens that are hidden
  double mean_length = 3.0;  // of the spans; of infilling, that of a Poisson distribution

  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

// A text with noise, and what it is to become.
struct NoisedText {
  std::vector<int32_t> source, target;
};

class Noising {
 public:
  // `marks`: the sentinels in their order, at least two, or the mask token alone.
  Noising(const NoiseRules& rules, std::vector<int32_t> marks);

  // Depends on the tokens and the key alone. Neither side is longer than the text and one token more. Needs two tokens.
  NoisedText apply(std::span<const int32_t> text, RandomKey key) const;

 private:
  NoisedText with_spans(std::span<const int32_t> text, RandomKey key) const;
  NoisedText with_infilling(std::span<const int32_t> text, RandomKey key) const;

  NoiseRules rules_;
  std::vector<int32_t> marks_;
};

}  // namespace heed
