#include "train/tasks/labeled_task.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text/plural.h"
#include "data/batches/even_parts.h"
#include "data/lines/origins.h"
#include "train/tasks/labeled_scores.h"

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
    return loss_of_hidden(pass, model, model.encoder_only().hidden(pass, batch_.tokens), smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing smoothing) const override {
    const EncoderOnly& encoder = model.encoder_only();
    const Hidden rows = head_ == Head::token_labels ? hidden : encoder.pooled(pass, hidden, batch_.tokens.segments());
    return encoder.loss(pass, rows, batch_.expected, smoothing);
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
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return loss_of_hidden(pass, model, model.encoder_only().hidden(pass, batch_.texts), smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden, Smoothing) const override {
    const EncoderOnly& encoder = model.encoder_only();
    return encoder.loss(pass, encoder.pooled(pass, hidden, batch_.texts.segments()), batch_.values);
  }

 private:
  ValuedBatch batch_;
};

int64_t rows_of(const LabeledExample& example) { return std::ssize(example.text.ids); }

uint64_t fingerprint(const std::vector<LabeledExample>& examples) {
  RandomKey content;
  for (const LabeledExample& example : examples) {
    for (const std::vector<int32_t>* const part : {&example.text.ids, &example.text.types, &example.labels}) {
      for (const int32_t value : *part) {
        content = content.derive(static_cast<uint64_t>(value));
      }
    }
    content = content.derive(fmt::format("{}", example.number));
  }
  return content.bits;
}

}  // namespace

LabeledTask::LabeledTask(const Recipe& recipe, const TaskSetup& setup)
    : head_(recipe.model.head),
      token_types_(recipe.model.token_types),
      max_length_(recipe.model.max_length),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)),
      data_(recipe.of<LabeledRecipe>().data),
      given_labels_(recipe.model.labels),
      tokenizers_(setup.tokenizers != nullptr ? *setup.tokenizers : recipe.of<LabeledRecipe>().make_tokenizers()),
      text_(setup.stored != nullptr ? stored_text(*setup.stored) : read_text()),
      batches_(
          examples(),
          [this](int64_t i) {
            const int64_t rows = rows_of(text_.train[static_cast<size_t>(i)]);
            return SentenceRows{rows, rows};
          },
          BatchRules{.sentences = data_.batch_sequences, .order = PoolOrder::shuffled},
          static_cast<uint64_t>(recipe.training.seed), fingerprint(text_.train)) {
  check_types(text_.train);
}

void LabeledTask::check_types(const std::vector<Example>& examples) const {
  for (const Example& example : examples) {
    const bool fit = std::ranges::all_of(example.text.types, [&](int32_t type) { return type < token_types_; });
    require<ConfigError>(token_types_ == 0 || fit, "data.pairs",
                         "the tokenizer tells two types of tokens apart, but model.token_types is {}", token_types_);
  }
}

// The recipe may list labels that the training text lacks, so that models of several texts have the same ones.
LabeledTask::Text LabeledTask::read_text() const {
  constexpr std::string_view kConsequence = ": nothing would be learned about it";
  const LabeledReading reading{.tokenizer = *tokenizers_.front(),
                               .head = head_,
                               .max_length = max_length_,
                               .columns = data_.columns,
                               .format = data_.format,
                               .too_long = data_.too_long};
  std::vector<NamedExample> train = read_examples(data_.train, reading);
  std::set<std::string> trained;
  for (const NamedExample& named : train) {
    trained.insert(named.labels.begin(), named.labels.end());
  }
  Text text{.labels = given_labels_, .train = {}, .validation = {}};
  if (head_ != Head::number) {
    require<FormatError>(!trained.empty(), "data.train", "no text has a label");
    if (text.labels.empty()) {
      text.labels.assign(trained.begin(), trained.end());
    }
  }
  text.train = with_label_ids(std::move(train), {text.labels, "model.labels", std::string(kConsequence)});
  if (data_.validation.empty()) {
    return text;
  }
  std::vector<NamedExample> validation = read_examples(data_.validation, reading);
  for (const NamedExample& named : validation) {
    for (const std::string& label : named.labels) {
      require<FormatError>(trained.contains(label), named.example.where, "the label '{}' is not in the training text{}",
                           label, kConsequence);
    }
  }
  text.validation = with_label_ids(std::move(validation), {text.labels, "model.labels", ""});
  return text;
}

void LabeledTask::store(FieldsToStore& fields) const {
  fields.add_texts("labels", text_.labels);
  fields.add_texts("labels.given", given_labels_);
  store_examples(fields, "train", text_.train);
  store_examples(fields, "validation", text_.validation);
}

// A recipe that is resumed may name the labels that were found.
LabeledTask::Text LabeledTask::stored_text(const StoredFields& fields) const {
  Text text{.labels = fields.texts_of("labels"), .train = {}, .validation = {}};
  require<ConfigError>(given_labels_ == text.labels || given_labels_ == fields.texts_of("labels.given"), "model.labels",
                       "are others than the prepared corpus has: prepare it again");
  const ExampleLimits limits{.vocabulary = tokenizers_.front()->vocabulary_size(),
                             .max_length = max_length_,
                             .labels = std::ssize(text.labels),
                             .head = head_};
  text.train = stored_examples(fields, "train", limits);
  text.validation = stored_examples(fields, "validation", limits);
  require<FormatError>(!text.train.empty(), fields.where(), "holds no text");
  return text;
}

std::string LabeledTask::describe_text() const {
  const auto count = [&](const std::vector<Example>& examples) {
    int64_t words = 0;
    for (const Example& example : examples) {
      words += static_cast<int64_t>(example.text.first_of_words.size());
    }
    const int64_t number = std::ssize(examples);
    return head_ == Head::token_labels
               ? fmt::format("{} word{} in {} sentence{}", words, plural(words), number, plural(number))
               : fmt::format("{} text{}", number, plural(number));
  };
  std::string text = count(text_.train);
  if (head_ != Head::number) {
    text += fmt::format(" with {} label{}", text_.labels.size(), plural(std::ssize(text_.labels)));
  }
  return text_.validation.empty() ? text : text + "; validation: " + count(text_.validation);
}

std::vector<std::pair<std::string, int64_t>> LabeledTask::sizes() const {
  return {{"train_texts", static_cast<int64_t>(text_.train.size())},
          {"validation_texts", static_cast<int64_t>(text_.validation.size())},
          {"labels", static_cast<int64_t>(text_.labels.size())}};
}

std::unique_ptr<Shard> LabeledTask::shard_of(const std::vector<const Example*>& examples, uint64_t first_row) const {
  std::vector<const EncodedText*> texts;
  std::ranges::transform(examples, std::back_inserter(texts), [](const Example* e) { return &e->text; });
  Sequences sequences = sequences_of(texts, token_types_, first_row);
  if (head_ == Head::number || head_ == Head::several_labels) {
    LabelTargets targets{{}, head_ == Head::number ? 1 : static_cast<int64_t>(text_.labels.size())};
    for (const Example* const example : examples) {
      const std::vector<double> values = targets_of(*example, head_, text_.labels.size());
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
  const auto rows_at = [&](int64_t index) { return rows_of(text_.train[static_cast<size_t>(index)]); };
  Update update;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::span<const int64_t> chosen = batches_.next();
    update.examples.insert(update.examples.end(), chosen.begin(), chosen.end());
    for (const std::span<const int64_t> part : cut_evenly(chosen, shards_per_batch_, rows_at)) {
      std::vector<const Example*> examples;
      uint64_t rows = 0;
      for (const int64_t index : part) {
        examples.push_back(&text_.train[static_cast<size_t>(index)]);
        rows += examples.back()->text.ids.size();
      }
      update.shards.push_back(shard_of(examples, first_row));
      first_row += rows;
    }
  }
  return update;
}

void LabeledTask::seek(const BatchPosition& position) { seek_batches(batches_, position, "data.train"); }

std::string LabeledTask::describe_origins(const Update& update) const {
  return first_origins(std::span<const int64_t>(update.examples), [&](int64_t index) { return where(index); });
}

std::string LabeledTask::list_origins(const Update& update) const {
  return all_origins(std::span<const int64_t>(update.examples), [&](int64_t index) { return where(index); });
}

Scores LabeledTask::validate(const Inference& inference) const {
  TextReader reader(inference.model, inference.storage, inference.backend);
  return score_examples(reader, text_.validation);
}

}  // namespace heed
