// Passages of a text as a language model reads them: its surprisal at each token, and its attention.
#pragma once

#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "models/any_model.h"
#include "report/figures/head_figures.h"
#include "train/recipe/language_model_recipe.h"

namespace heed {

// A row of the maps is the step that predicts expected_tokens[row] from fed_tokens[0] to [row].
struct Passage {
  std::string where;                                     // "input.txt:812"
  std::vector<std::string> fed_tokens, expected_tokens;  // t0 .. tn-1; t1 .. tn
  std::vector<double> log_probabilities;                 // of expected_tokens
  std::string maps;  // in 255ths, one byte each: [layer][head][query][key]; may be empty
};

// How many passages, and their maximum length; no passage crosses the border of a document.
struct PassageRules {
  int64_t count = 6;
  int64_t max_tokens = 128;
  Interruption interruption = {};  // takes effect between two passages
};

struct Passages {
  std::vector<Passage> read;
  std::vector<HeadFigures> heads;
  std::vector<std::string> notes;  // what was left out
};

// Passages spread evenly over the text.
Passages read_passages(const Inference& inference, const Tokenizer& tokenizer, const TextRules& text,
                       const PassageRules& rules);

}  // namespace heed
