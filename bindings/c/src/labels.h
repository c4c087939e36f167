// What an encoder says of texts.
#pragma once

#include <vector>

#include "heed/types/reading/labels.h"

struct heed_labels {
  std::vector<std::vector<heed::TextLabels>> texts;  // word by word, or one for the whole text
};

struct heed_guesses {
  std::vector<heed::FilledText> texts;
};
