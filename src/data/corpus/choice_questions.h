// Questions with several choices, of which one is right.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heed/types/writing/continuations.h"

namespace heed {

struct ChoiceQuestion {
  Continuations item;
  size_t answer = 0;  // of its texts
  std::string where;  // "questions.jsonl:3"
};

// A file with an object in each line, as heed/choices.h has them. FormatError, which names file and line, for anything
// else, and for a file without a question.
std::vector<ChoiceQuestion> read_choice_questions(const std::filesystem::path& file);

}  // namespace heed
