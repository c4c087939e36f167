// Training in both directions, then in one, with the model's own translations of the text: docs/results.md has what
// that gives.
#pragma once

#include <string>
#include <vector>

#include "propose/recipe_parts.h"
#include "propose/text_figures.h"

namespace heed {

// Subwords of the training text, the ends of sentences included.
struct PairTokens {
  double source = 0.0, target = 0.0;
  double both() const { return source + target; }
};

// Whether there are enough pairs for a model that translates them to teach, and languages that tell the directions apart.
bool suits_both_ways(const Lines& source, const Lines& target);

// How much of what a model of both directions learns from. Read from the same runs as that of one direction.
LearningRules both_ways_rules(const PairTokens& tokens);

// The trainings of the two directions and of the one, as the time allows them.
struct BothWaysRun {
  ExpectedRun both, one;
  double minutes = 0.0;        // of all
  double first_minutes = 0.0;  // until the training of both directions ends
  bool is_full = false;        // more passes would not help
};

// Whether the time is enough for it to be better than one direction alone. `choice` is that of the rules above.
bool pays_both_ways(const SizeChoice& choice, const PairTokens& tokens);
BothWaysRun both_ways_run(const SizeChoice& choice, const PairTokens& tokens, int64_t batch, double minutes);

// The stages. `source` and `target` are the files of the training text.
void add_both_ways(ReasonedRecipe& recipe, const BothWaysRun& run, int64_t width,
                   const std::vector<std::string>& source, const std::vector<std::string>& target);

}  // namespace heed
