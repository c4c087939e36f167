// Texts with labels, from files of columns.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heed/types/reading/labeled_files.h"

namespace heed {

// A line of a classification file: text \t label, or text \t text \t label.
struct LabeledText {
  std::string first, second, label;
  std::string where;  // "train.tsv:12", for messages
};

// FormatError, naming the line, for one with another number of columns; and for files without a line.
std::vector<LabeledText> read_labeled_texts(const std::vector<std::string>& files, TextColumns columns);

struct LabeledWords {
  std::vector<std::string> words, labels;
  std::string where;  // of its first line
};

// FormatError, naming the line, for one whose number of columns is not the first line's, or that does not have a label
// for each word; and for files without a word.
std::vector<LabeledWords> read_labeled_words(const std::vector<std::string>& files, WordFormat format);

// What is between the separators; a text without one is one part.
std::vector<std::string> parts_of(const std::string& text, char separator);
// The words between white space (ASCII).
std::vector<std::string> words_of(const std::string& text);

}  // namespace heed
