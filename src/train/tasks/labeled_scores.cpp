#include "train/tasks/labeled_scores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "eval/classification.h"

namespace heed {
namespace {

using HeadScores = std::vector<std::vector<float>>;

// Figures of each label, unless there are too many to list at every validation.
constexpr size_t kListedLabels = 64;

std::vector<LabelFigures> figures_by_label(const std::vector<std::string>& labels,
                                           const std::vector<LabelCounts>& counts) {
  std::vector<LabelFigures> scores;
  for (size_t k = 0; k < labels.size() && labels.size() <= kListedLabels; ++k) {
    scores.push_back({.label = labels[k],
                      .expected = counts[k].expected,
                      .predicted = counts[k].predicted,
                      .right = counts[k].right,
                      .predicted_as = {}});
  }
  return scores;
}

double number_of(const std::string& text, const std::string& where) {
  double number = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  require<FormatError>(problem == std::errc() && end == text.data() + text.size() && std::isfinite(number), where,
                       "the label is '{}', expected a number", text);
  return number;
}

std::string without_outer_spaces(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// The labels of a text, in the order of their names.
std::vector<std::string> several_labels(const std::string& text, const std::string& where) {
  std::set<std::string> unique;
  if (without_outer_spaces(text).empty()) {
    return {};
  }
  for (const std::string& part : parts_of(text, ',')) {
    const std::string label = without_outer_spaces(part);
    require<FormatError>(!label.empty(), where, "the labels are '{}', of which one is empty", text);
    unique.insert(label);
  }
  return {unique.begin(), unique.end()};
}

// What one row of scores says: -log p of a label, and the label with the highest score.
double surprise(std::span<const float> scores, int32_t label) {
  const double most = static_cast<double>(*std::ranges::max_element(scores));
  double sum = 0.0;
  for (const float score : scores) {
    sum += std::exp(static_cast<double>(score) - most);
  }
  return most + std::log(sum) - static_cast<double>(scores[static_cast<size_t>(label)]);
}

int64_t best_label(std::span<const float> scores) { return std::ranges::max_element(scores) - scores.begin(); }

// log(1 + e^z) - t z.
double sigmoid_loss(double z, double t) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))) - t * z; }

Scores compare_numbers(std::span<const LabeledExample> examples, const HeadScores& scores) {
  NumberPairs numbers;
  double sum = 0.0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double predicted = static_cast<double>(scores[i].front()), expected = examples[i].number;
    numbers.expected.push_back(expected);
    numbers.predicted.push_back(predicted);
    sum += (predicted - expected) * (predicted - expected) / 2.0;
  }
  Scores found;
  found.loss = sum / static_cast<double>(scores.size());
  found.others = {{"spearman", spearman(numbers)}, {"pearson", pearson(numbers)}};
  return found;
}

Scores compare_several_labels(const std::vector<std::string>& labels, std::span<const LabeledExample> examples,
                              const HeadScores& scores) {
  std::vector<LabelCounts> counts(labels.size());
  double sum = 0.0;
  int64_t exact = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const std::vector<double> expected = targets_of(examples[i], Head::several_labels, labels.size());
    bool all = true;
    for (size_t k = 0; k < counts.size(); ++k) {
      const bool predicted = scores[i][k] > 0.0F, wanted = expected[k] > 0.0;
      sum += sigmoid_loss(static_cast<double>(scores[i][k]), expected[k]);
      counts[k].predicted += predicted ? 1 : 0;
      counts[k].expected += wanted ? 1 : 0;
      counts[k].right += predicted && wanted ? 1 : 0;
      all = all && predicted == wanted;
    }
    exact += all ? 1 : 0;
  }
  const auto texts = static_cast<double>(scores.size());
  Scores found;
  found.loss = sum / texts;
  found.others = {
      {"f1_micro", micro_f1(counts)}, {"f1_macro", macro_f1(counts)}, {"exact", static_cast<double>(exact) / texts}};
  found.labels = figures_by_label(labels, counts);
  return found;
}

// Scores of texts or of words.
Scores compare_labels(const std::vector<std::string>& labels, std::span<const LabeledExample> examples,
                      const HeadScores& scores) {
  ConfusionMatrix matrix(static_cast<int64_t>(labels.size()));
  double sum = 0.0;
  int64_t rows = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t k = 0; k < examples[i].labels.size(); ++k, ++rows) {
      const auto row = std::span(scores[i]).subspan(k * labels.size(), labels.size());
      sum += surprise(row, examples[i].labels[k]);
      matrix.add(examples[i].labels[k], best_label(row));
    }
  }
  Scores found;
  found.loss = sum / static_cast<double>(rows);
  found.others = {
      {"accuracy", matrix.accuracy()}, {"f1_macro", macro_f1(matrix.by_label())}, {"matthews", matrix.matthews()}};
  found.labels = figures_by_label(labels, matrix.by_label());
  for (size_t e = 0; e < found.labels.size(); ++e) {
    for (size_t p = 0; p < found.labels.size(); ++p) {
      found.labels[e].predicted_as.push_back(matrix.at(static_cast<int64_t>(e), static_cast<int64_t>(p)));
    }
  }
  return found;
}

}  // namespace

std::vector<NamedExample> read_examples(const std::vector<std::string>& files, const LabeledReading& reading) {
  std::vector<NamedExample> found;
  if (reading.head == Head::token_labels) {
    for (LabeledWords& sentence : read_labeled_words(files, reading.format)) {
      EncodedText text = encode_words(reading.tokenizer, sentence.words, reading.max_length, sentence.where);
      found.push_back({std::move(sentence.labels), {std::move(text), {}, 0.0, sentence.where}});
    }
    return found;
  }
  for (const LabeledText& line : read_labeled_texts(files, reading.columns)) {
    const TextOrPair text{line.first, reading.columns == TextColumns::pair ? &line.second : nullptr};
    NamedExample named{
        {},
        {encode_text_or_pair(reading.tokenizer, text, {reading.max_length, reading.too_long}, line.where),
         {},
         0.0,
         line.where}};
    if (reading.head == Head::number) {
      named.example.number = number_of(line.label, line.where);
    } else if (reading.head == Head::several_labels) {
      named.labels = several_labels(line.label, line.where);
    } else {
      require<FormatError>(!line.label.empty(), line.where, "the label is empty");
      named.labels = {line.label};
    }
    found.push_back(std::move(named));
  }
  return found;
}

std::vector<LabeledExample> with_label_ids(std::vector<NamedExample> named, const LabelList& list) {
  std::vector<LabeledExample> examples;
  for (NamedExample& one : named) {
    for (const std::string& label : one.labels) {
      const auto it = std::ranges::find(list.labels, label);
      require<FormatError>(it != list.labels.end(), one.example.where, "the label '{}' is not in {}{}", label,
                           list.name, list.consequence);
      one.example.labels.push_back(static_cast<int32_t>(it - list.labels.begin()));
    }
    examples.push_back(std::move(one.example));
  }
  return examples;
}

std::vector<double> targets_of(const LabeledExample& example, Head head, size_t labels) {
  if (head == Head::number) {
    return {example.number};
  }
  std::vector<double> values(labels, 0.0);
  for (const int32_t label : example.labels) {
    values[static_cast<size_t>(label)] = 1.0;
  }
  return values;
}

Scores score_examples(TextReader& reader, std::span<const LabeledExample> examples) {
  const ModelConfig& config = reader.model().config();
  std::vector<EncodedText> texts;
  std::ranges::transform(examples, std::back_inserter(texts), &LabeledExample::text);
  const HeadScores scores = head_scores(reader, texts);
  Scores found = config.head == Head::number           ? compare_numbers(examples, scores)
                 : config.head == Head::several_labels ? compare_several_labels(config.labels, examples, scores)
                                                       : compare_labels(config.labels, examples, scores);
  found.value = found.others.front().value;
  return found;
}

}  // namespace heed
