// What an encoder says of a text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/names.h"

namespace heed {

// How a text's tokens become one row: the first one's, or, column by column, their mean or maximum.
enum class Pooling : uint8_t { first, mean, max };

inline constexpr std::array<NamedValue<Pooling>, 3> kPoolingNames{
    {{"first", Pooling::first}, {"mean", Pooling::mean}, {"max", Pooling::max}}};

// A text, or a pair of texts that are read together.
struct TextPair {
  std::string first, second;
};

enum class Normalized : uint8_t { no, yes };

struct TextEmbeddingOptions {
  Pooling pooling = Pooling::mean;
  Normalized normalized = Normalized::no;  // yes: to length 1
};

struct LabelScore {
  std::string label;
  double probability = 0.0;
};

struct TextLabels {
  // From a head for one label, the most likely one; for several labels, those with a probability above 1/2; for a
  // number, none.
  std::vector<std::string> labels;
  std::vector<LabelScore> scores;  // of all labels, in the model's order
  double number = 0.0;             // from a head for a number
};

}  // namespace heed
