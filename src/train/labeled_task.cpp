#include "train/labeled_task.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "data/even_parts.h"
#include "data/origins.h"
#include "eval/classification.h"

namespace heed {
namespace {

// A batch whose rows, or whose texts, have one label each.
class LabelShard final : public Shard {
 public:
  LabelShard(Sequences&& texts, Targets&& labels, Head head)
      : batch_{std::move(texts), std::move(labels)}, targets_(batch_.expected.counted()), head_(head) {}

  int64_t targets() const override { return targets_; }
  ShardTexts texts() const override { return {batch_.tokens, batch_.tokens}; }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    const EncoderOnly& encoder = model.encoder_only();
    return head_ == Head::token_labels ? encoder.loss(pass, batch_, smoothing)
                                       : encoder.label_loss(pass, batch_.tokens, batch_.expected, smoothing);
  }

 private:
  TokenBatch batch_;
  int64_t targets_;
  Head head_;
};

class ValueShard final : public Shard {
 public:
  explicit ValueShard(ValuedBatch&& batch) : batch_(std::move(batch)) {}

  int64_t targets() const override { return batch_.texts.segments().count(); }
  ShardTexts texts() const override { return {batch_.texts, batch_.texts}; }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing) const override {
    return model.encoder_only().value_loss(pass, batch_);
  }

 private:
  ValuedBatch batch_;
};

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

// The labels of a text, in the order of their names.
std::vector<std::string> several_labels(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const std::vector<std::string> parts = parts_of(text, ',');
  const std::set<std::string> unique(parts.begin(), parts.end());
  return {unique.begin(), unique.end()};
}

// Of one row of scores: -log p of a label, and the label with the highest score.
double surprisal(std::span<const float> scores, int32_t label) {
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

}  // namespace

LabeledTask::LabeledTask(const Recipe& recipe, const TaskSetup& setup)
    : head_(recipe.model.head),
      token_types_(recipe.model.token_types),
      max_length_(recipe.model.max_length),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)),
      own_recipe_(recipe.task->clone()),
      labels_(recipe.model.labels),
      given_labels_(recipe.model.labels) {
  recipe_ = dynamic_cast<const LabeledRecipe*>(own_recipe_.get());
  tokenizers_ = setup.tokenizers != nullptr ? *setup.tokenizers : recipe_->make_tokenizers();
  if (setup.stored != nullptr) {
    take_stored(*setup.stored);
  } else {
    read_text();
  }
  RandomKey content;
  for (const Example& example : train_) {
    for (const std::vector<int32_t>* const part : {&example.text.ids, &example.text.types, &example.labels}) {
      for (const int32_t value : *part) {
        content = content.derive(static_cast<uint64_t>(value));
      }
    }
    content = content.derive(fmt::format("{}", example.number));
  }
  batches_.emplace(
      examples(),
      [this](int64_t i) {
        const auto rows = static_cast<int64_t>(train_[static_cast<size_t>(i)].text.ids.size());
        return SentenceRows{rows, rows};
      },
      BatchRules{.sentences = recipe_->data.batch_sequences, .order = PoolOrder::shuffled},
      static_cast<uint64_t>(recipe.training.seed), content.bits);
}

void LabeledTask::read_text() {
  std::vector<RawExample> train = read(recipe_->data.train);
  if (labels_.empty() && head_ != Head::number) {
    std::set<std::string> found;
    for (const RawExample& raw : train) {
      found.insert(raw.labels.begin(), raw.labels.end());
    }
    labels_.assign(found.begin(), found.end());
    require<FormatError>(!labels_.empty(), "data.train", "no text has a label");
  }
  const std::string_view known_from = given_labels_.empty() ? "the training text" : "model.labels";
  train_ = with_label_ids(std::move(train), std::string(known_from));
  if (!recipe_->data.validation.empty()) {
    validation_ = with_label_ids(read(recipe_->data.validation), std::string(known_from));
  }
}

void LabeledTask::store(PartsToStore& parts) const {
  parts.add_texts("labels", labels_);
  parts.add_texts("labels.given", given_labels_);
  store_examples(parts, "train", train_);
  store_examples(parts, "validation", validation_);
}

// A recipe that is resumed may name the labels that were found.
void LabeledTask::take_stored(const StoredParts& parts) {
  labels_ = parts.texts_of("labels");
  require<ConfigError>(given_labels_ == labels_ || given_labels_ == parts.texts_of("labels.given"), "model.labels",
                       "are others than the prepared corpus has: prepare it again");
  const ExampleLimits limits{.vocabulary = tokenizers_.front()->vocabulary_size(),
                             .max_length = max_length_,
                             .labels = static_cast<int64_t>(labels_.size()),
                             .head = head_};
  train_ = stored_examples(parts, "train", limits);
  validation_ = stored_examples(parts, "validation", limits);
  require<FormatError>(!train_.empty(), parts.where(), "holds no text");
}

std::vector<LabeledTask::RawExample> LabeledTask::read(const std::vector<std::string>& files) const {
  const Tokenizer& tokenizer = *tokenizers_.front();
  const LabeledDataRecipe& data = recipe_->data;
  std::vector<RawExample> found;
  if (head_ == Head::token_labels) {
    for (LabeledWords& sentence : read_labeled_words(files, data.format)) {
      EncodedText text = encode_words(tokenizer, sentence.words, max_length_, sentence.where);
      found.push_back({std::move(sentence.labels), {std::move(text), {}, 0.0, sentence.where}});
    }
    return found;
  }
  for (const LabeledText& line : read_labeled_texts(files, data.columns)) {
    const TextOrPair text{line.first, data.columns == TextColumns::pair ? &line.second : nullptr};
    RawExample raw{{},
                   {encode_text_or_pair(tokenizer, text, max_length_, data.too_long, line.where), {}, 0.0, line.where}};
    if (head_ == Head::number) {
      raw.example.number = number_of(line.label, line.where);
    } else {
      require<FormatError>(!line.label.empty() || head_ == Head::several_labels, line.where, "the label is empty");
      raw.labels = head_ == Head::one_label ? std::vector{line.label} : several_labels(line.label);
    }
    found.push_back(std::move(raw));
  }
  return found;
}

// With labels as ids. `known_from` says in messages where every label should be.
std::vector<LabeledTask::Example> LabeledTask::with_label_ids(std::vector<RawExample> raw,
                                                              const std::string& known_from) const {
  std::vector<Example> examples;
  for (RawExample& one : raw) {
    for (const std::string& label : one.labels) {
      const auto it = std::ranges::find(labels_, label);
      require<FormatError>(it != labels_.end(), one.example.where,
                           "the label '{}' is not in {}: nothing would be learned about it", label, known_from);
      one.example.labels.push_back(static_cast<int32_t>(it - labels_.begin()));
    }
    examples.push_back(std::move(one.example));
  }
  return examples;
}

std::string LabeledTask::describe_text() const {
  const auto count = [&](const std::vector<Example>& examples) {
    int64_t words = 0;
    for (const Example& example : examples) {
      words += static_cast<int64_t>(example.text.first_of_words.size());
    }
    return head_ == Head::token_labels ? fmt::format("{} words in {} sentences", words, examples.size())
                                       : fmt::format("{} texts", examples.size());
  };
  std::string text = count(train_);
  if (head_ != Head::number) {
    text += fmt::format(" with {} labels", labels_.size());
  }
  return validation_.empty() ? text : text + "; validation: " + count(validation_);
}

std::vector<std::pair<std::string, int64_t>> LabeledTask::sizes() const {
  return {{"train_texts", static_cast<int64_t>(train_.size())},
          {"validation_texts", static_cast<int64_t>(validation_.size())},
          {"labels", static_cast<int64_t>(labels_.size())}};
}

// 0 or 1 for each label, or the number.
std::vector<double> LabeledTask::targets_of(const Example& example) const {
  if (head_ == Head::number) {
    return {example.number};
  }
  std::vector<double> values(labels_.size(), 0.0);
  for (const int32_t label : example.labels) {
    values[static_cast<size_t>(label)] = 1.0;
  }
  return values;
}

std::unique_ptr<Shard> LabeledTask::shard_of(const std::vector<const Example*>& examples, uint64_t first_row) const {
  std::vector<const EncodedText*> texts;
  std::ranges::transform(examples, std::back_inserter(texts), [](const Example* e) { return &e->text; });
  Sequences sequences = sequences_of(texts, token_types_, first_row);
  if (head_ == Head::number || head_ == Head::several_labels) {
    LabelTargets targets{{}, head_ == Head::number ? 1 : static_cast<int64_t>(labels_.size())};
    for (const Example* const example : examples) {
      const std::vector<double> values = targets_of(*example);
      targets.values.insert(targets.values.end(), values.begin(), values.end());
    }
    return std::make_unique<ValueShard>(ValuedBatch{std::move(sequences), std::move(targets)});
  }
  std::vector<int32_t> expected;
  if (head_ == Head::one_label) {
    std::ranges::transform(examples, std::back_inserter(expected), [](const Example* e) { return e->labels.front(); });
  } else {
    expected.resize(static_cast<size_t>(sequences.rows()), Targets::kIgnored);
    for (size_t s = 0; s < examples.size(); ++s) {
      const int64_t begin = sequences.segments().begin(static_cast<int64_t>(s));
      for (size_t word = 0; word < examples[s]->labels.size(); ++word) {
        expected[static_cast<size_t>(begin + examples[s]->text.first_of_words[word])] = examples[s]->labels[word];
      }
    }
  }
  return std::make_unique<LabelShard>(std::move(sequences), Targets(std::move(expected)), head_);
}

Update LabeledTask::next_update(int64_t) {
  const auto rows_of = [&](int64_t index) {
    return static_cast<int64_t>(train_[static_cast<size_t>(index)].text.ids.size());
  };
  Update update;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::span<const int64_t> chosen = batches_->next();
    update.examples.insert(update.examples.end(), chosen.begin(), chosen.end());
    for (const std::span<const int64_t> part : cut_evenly(chosen, shards_per_batch_, rows_of)) {
      std::vector<const Example*> examples;
      uint64_t rows = 0;
      for (const int64_t index : part) {
        examples.push_back(&train_[static_cast<size_t>(index)]);
        rows += examples.back()->text.ids.size();
      }
      update.shards.push_back(shard_of(examples, first_row));
      first_row += rows;
    }
  }
  return update;
}

void LabeledTask::seek(const BatchPosition& position) { seek_batches(*batches_, position, "data.train"); }

std::string LabeledTask::describe_origins(const Update& update) const {
  return first_origins(std::span<const int64_t>(update.examples), [&](int64_t index) { return where(index); });
}

std::string LabeledTask::list_origins(const Update& update) const {
  return all_origins(std::span<const int64_t>(update.examples), [&](int64_t index) { return where(index); });
}

Scores LabeledTask::validate(const Inference& inference) const {
  std::vector<EncodedText> texts;
  std::ranges::transform(validation_, std::back_inserter(texts), &Example::text);
  Lanes lanes(inference.backend);
  const HeadScores scores = head_scores({inference.model, inference.storage, lanes}, texts);
  Scores found = head_ == Head::number           ? compare_numbers(scores)
                 : head_ == Head::several_labels ? compare_several_labels(scores)
                                                 : compare_labels(scores);
  found.value = found.others.front().value;
  return found;
}

Scores LabeledTask::compare_numbers(const HeadScores& scores) const {
  NumberPairs numbers;
  double sum = 0.0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double predicted = static_cast<double>(scores[i].front()), expected = validation_[i].number;
    numbers.expected.push_back(expected);
    numbers.predicted.push_back(predicted);
    sum += (predicted - expected) * (predicted - expected) / 2.0;
  }
  Scores found;
  found.loss = sum / static_cast<double>(scores.size());
  found.others = {{"spearman", spearman(numbers)}, {"pearson", pearson(numbers)}};
  return found;
}

Scores LabeledTask::compare_several_labels(const HeadScores& scores) const {
  std::vector<LabelCounts> counts(labels_.size());
  double sum = 0.0;
  int64_t exact = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const std::vector<double> expected = targets_of(validation_[i]);
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
  found.labels = figures_by_label(labels_, counts);
  return found;
}

// Of texts or of words.
Scores LabeledTask::compare_labels(const HeadScores& scores) const {
  ConfusionMatrix matrix(static_cast<int64_t>(labels_.size()));
  double sum = 0.0;
  int64_t rows = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t k = 0; k < validation_[i].labels.size(); ++k, ++rows) {
      const auto row = std::span(scores[i]).subspan(k * labels_.size(), labels_.size());
      sum += surprisal(row, validation_[i].labels[k]);
      matrix.add(validation_[i].labels[k], best_label(row));
    }
  }
  Scores found;
  found.loss = sum / static_cast<double>(rows);
  found.others = {
      {"accuracy", matrix.accuracy()}, {"f1_macro", macro_f1(matrix.by_label())}, {"matthews", matrix.matthews()}};
  found.labels = figures_by_label(labels_, matrix.by_label());
  for (size_t e = 0; e < found.labels.size(); ++e) {
    for (size_t p = 0; p < found.labels.size(); ++p) {
      found.labels[e].predicted_as.push_back(matrix.at(static_cast<int64_t>(e), static_cast<int64_t>(p)));
    }
  }
  return found;
}

}  // namespace heed
