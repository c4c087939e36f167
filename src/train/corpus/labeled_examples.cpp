#include "train/corpus/labeled_examples.h"

#include <algorithm>
#include <utility>

#include "train/corpus/stored_lists.h"

namespace heed {
namespace {

constexpr int64_t kTextTypes = 2;  // of the first and of the second text

bool is_whole(const LabeledExample& example, const ExampleLimits& limits) {
  const EncodedText& text = example.text;
  const size_t rows = text.ids.size(), words = text.first_of_words.size();
  const bool labels_fit = limits.head == Head::token_labels ? example.labels.size() == words
                          : limits.head == Head::one_label  ? example.labels.size() == 1
                                                            : true;
  return rows > 0 && std::cmp_less_equal(rows, limits.max_length) && text.types.size() == rows && labels_fit &&
         std::ranges::all_of(text.first_of_words, [&](int32_t row) { return std::cmp_less(row, rows); });
}

}  // namespace

void store_examples(FieldsToStore& fields, const std::string& name, const std::vector<LabeledExample>& examples) {
  FlatLists ids, types, words, labels;
  std::vector<double> numbers;
  std::vector<std::string> places;
  numbers.reserve(examples.size());
  places.reserve(examples.size());
  for (const LabeledExample& example : examples) {
    ids.add(example.text.ids);
    types.add(example.text.types);
    words.add(example.text.first_of_words);
    labels.add(example.labels);
    numbers.push_back(example.number);
    places.push_back(example.where);
  }
  std::move(ids).store(fields, name + ".ids");
  std::move(types).store(fields, name + ".types");
  std::move(words).store(fields, name + ".words");
  std::move(labels).store(fields, name + ".labels");
  fields.add(name + ".numbers", std::move(numbers));
  fields.add_texts(name + ".places", places);
}

std::vector<LabeledExample> stored_examples(const StoredFields& fields, const std::string& name,
                                            const ExampleLimits& limits) {
  ListReader ids(fields, name + ".ids", limits.vocabulary), types(fields, name + ".types", kTextTypes),
      words(fields, name + ".words", limits.max_length), labels(fields, name + ".labels", limits.labels);
  const SpillArray<double> numbers = fields.array<double>(name + ".numbers");
  std::vector<std::string> places = fields.texts_of(name + ".places");
  const int64_t count = ids.size();
  for (const int64_t other : {types.size(), words.size(), labels.size(), numbers.size()}) {
    require<FormatError>(other == count && std::cmp_equal(places.size(), count), fields.where(),
                         "the fields of '{}' have different lengths", name);
  }
  std::vector<LabeledExample> examples;
  examples.reserve(places.size());
  for (int64_t i = 0; i < count; ++i) {
    EncodedText text{.ids = ids.next(), .types = types.next(), .first_of_words = words.next()};
    examples.push_back({std::move(text), labels.next(), numbers[i], std::move(places[static_cast<size_t>(i)])});
    require<FormatError>(is_whole(examples.back(), limits), fields.where(), "example {} of '{}' is damaged", i, name);
  }
  return examples;
}

}  // namespace heed
