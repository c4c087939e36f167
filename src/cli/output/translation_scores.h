// Printing BLEU, chrF2 and chrF2++.
#pragma once

#include <string>

#include "heed/types/evaluation.h"

namespace heed::cli {

std::string json_members(const TranslationScores& scores);  // without the braces
void print_scores(const TranslationScores& scores);
void print_signatures(const TranslationScores& scores);

}  // namespace heed::cli
