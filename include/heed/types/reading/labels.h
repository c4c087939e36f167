// What an encoder says of a text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/types/names.h"

namespace heed {

// How a text's n tokens become one row: the first one's or the last one's, or, column by column, their mean, their
// maximum, or their sum divided by sqrt(n).
enum class Pooling : uint8_t { first, mean, max, last, mean_sqrt_length };

inline constexpr std::array<NamedValue<Pooling>, 5> kPoolingNames{{{"first", Pooling::first},
                                                                   {"mean", Pooling::mean},
                                                                   {"max", Pooling::max},
                                                                   {"last", Pooling::last},
                                                                   {"mean-sqrt-length", Pooling::mean_sqrt_length}}};

// A text, or a pair of texts that are read together.
struct TextPair {
  std::string first, second;
};

enum class Normalized : uint8_t { no, yes };

// What is not set follows the model: the mean, not normalized, without a prompt, unless the model was imported with
// something else.
struct TextEmbeddingOptions {
  std::optional<Pooling> pooling;
  std::optional<Normalized> normalized;    // yes: to length 1
  std::optional<std::string> prompt;       // a text that is read before each text, or before the first one of a pair
  std::optional<std::string> prompt_name;  // of one of the model's own prompts
};

// A guess for a masked token.
struct MaskGuess {
  std::string token;  // in readable form, as LoadedTokenizer::piece() has it
  int32_t id = 0;
  double probability = 0.0;  // among all tokens of the vocabulary
  std::string text;          // the whole text with it, and with the likeliest tokens for the other masks
};

// A text with masks, and what a model guesses that they hide.
struct FilledText {
  std::string text;                           // with the likeliest token for each mask
  std::vector<std::vector<MaskGuess>> masks;  // the guesses for each mask, the likeliest first
};

struct FillOptions {
  int top = 5;       // guesses for each mask, at least 1
  std::string mask;  // how a mask is written; empty: as the tokenizer has it, "<mask>" or "[MASK]"
};

struct LabelScore {
  std::string label;
  double probability = 0.0;
};

// The labels of a text, or of a word.
struct TextLabels {
  // From a head for one label, or for a label of each word, the most likely one; for several labels, those with a
  // probability above 1/2; for a number, none.
  std::vector<std::string> labels;
  std::vector<LabelScore> scores;  // of all labels, in the model's order
  double number = 0.0;             // from a head for a number
};

}  // namespace heed
