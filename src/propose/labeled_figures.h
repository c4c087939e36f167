// Texts or words with labels, as far as a recipe depends on them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heed/types/reading/labeled_files.h"
#include "models/config.h"
#include "propose/proposal.h"
#include "propose/text_figures.h"

namespace heed {

// An example as it stands in a file: a line, or the lines of a sentence whose words stand one in each.
struct LabeledExampleText {
  std::string stored;               // with all its line ends
  std::vector<std::string> texts;   // one or two, or the words, joined
  std::vector<std::string> labels;  // of a text one, of words one for each
};

struct LabeledFile {
  TextColumns columns = TextColumns::one;   // of texts
  WordFormat format = WordFormat::columns;  // of words
  std::vector<LabeledExampleText> examples;
};

// Three columns are a pair of texts and a label. Words stand one in a line, unless each line has as many words before
// its tab as labels after it. FormatError, naming the line, for what is neither.
LabeledFile read_labeled_file(ProposedTask task, const std::vector<std::string>& files);

// A number, where all labels are numbers and some have a point; several, where some have a comma; otherwise one.
Head head_for(const LabeledFile& file);

std::map<std::string, int64_t> count_labels(const LabeledFile& file);

// The texts alone, to learn subwords from.
Lines texts_of(const LabeledFile& file);

// Some examples, drawn, for validation, but none whose label only it has: such a run would be refused.
struct DividedExamples {
  LabeledFile train, validation;
};
DividedExamples divide(LabeledFile file, size_t kept);

// As the files held them.
std::string stored_text(const LabeledFile& file);

}  // namespace heed
