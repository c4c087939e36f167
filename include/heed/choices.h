// Choosing the likeliest of given continuations, as evaluations with multiple choice do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/generator.h"

namespace heed {

struct ChoiceOptions {
  // A file with a JSON object in each line: {"prompt": "2 + 2 =", "choices": [" 4", " 5"], "answer": 0}. Blank lines are
  // skipped.
  std::string file;
  std::string examples;                // another one, whose first `shots` lines go before each prompt, answered
  int64_t shots = 0;                   // with an empty line after each
  TooLong too_long = TooLong::refuse;  // of a prompt with its choices
};

// What a model makes of a line.
struct Choice {
  std::vector<TextScore> scores;
  // Numbers of choices: the one with the largest log-probability, and with the largest for each character; the first of
  // equals.
  int64_t likeliest = 0, likeliest_by_length = 0;
  int64_t answer = 0;
};

struct ChoiceReport {
  std::vector<Choice> choices;
  double seconds = 0.0;

  double accuracy() const;
  double accuracy_by_length() const;
  // An accuracy a is the mean of zeros and ones. From the sample's variance: sqrt(a (1 - a) / (n - 1)); NaN for one line.
  double standard_error(double accuracy) const;
};

// Throws, naming the line, for one that is not such an object, without a right choice, or whose choices are empty.
ChoiceReport choose(const Generator& generator, const ChoiceOptions& options);

}  // namespace heed
