// How well a model's head predicts the labels of texts and words: what validation reports, and heed classify
// --evaluate.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/corpus/labeled_text.h"
#include "encode/text_readings.h"
#include "heed/types/train.h"
#include "train/corpus/labeled_examples.h"

namespace heed {

// How files are read: as texts or, where the head labels tokens, as words.
struct LabeledReading {
  const Tokenizer& tokenizer;
  Head head = Head::one_label;
  int64_t max_length = 0;
  TextColumns columns = TextColumns::one;
  WordFormat format = WordFormat::columns;
  TooLong too_long = TooLong::truncate;  // of texts
};

// An example whose labels are names.
struct NamedExample {
  std::vector<std::string> labels;
  LabeledExample example;
};

// FormatError, naming the line, for what is no example.
std::vector<NamedExample> read_examples(const std::vector<std::string>& files, const LabeledReading& reading);

// With labels by their numbers in a list. FormatError, naming the line, for a label that is not there: "the label 'x'
// is not in `list_name``consequence`".
struct LabelList {
  const std::vector<std::string>& labels;
  std::string name, consequence;
};
std::vector<LabeledExample> with_label_ids(std::vector<NamedExample> named, const LabelList& list);

// 0 or 1 for each label, or the number.
std::vector<double> targets_of(const LabeledExample& example, Head head, size_t labels);

// By the kind of head: accuracy, F1, Matthews' coefficient; F1 of several labels; correlations of numbers. Their value
// is the first of these: the accuracy, the F1 of all labels together, or Spearman's correlation.
Scores score_examples(TextReader& reader, std::span<const LabeledExample> examples);

}  // namespace heed
