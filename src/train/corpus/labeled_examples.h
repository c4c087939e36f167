// Texts with what is expected of them, and how a prepared corpus keeps them.
#pragma once

#include <string>
#include <vector>

#include "data/corpus/stored_fields.h"
#include "encode/encoder_texts.h"
#include "models/config.h"

namespace heed {

struct LabeledExample {
  EncodedText text;
  std::vector<int32_t> labels;  // one, several, or one for each word
  double number = 0.0;
  std::string where;
};

// As NAME.ids and so on.
void store_examples(FieldsToStore& fields, const std::string& name, const std::vector<LabeledExample>& examples);

// What the ids and labels must be below, and what the labels are of.
struct ExampleLimits {
  int64_t vocabulary = 0, max_length = 0, labels = 0;
  Head head = Head::one_label;
};
// Reads them completely. FormatError for examples that no text gives.
std::vector<LabeledExample> stored_examples(const StoredFields& fields, const std::string& name,
                                            const ExampleLimits& limits);

}  // namespace heed
