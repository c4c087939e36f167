#include "train/tasks/conversation/preference_task.h"

#include <utility>

#include "checkpoint/stored_model.h"
#include "train/tasks/conversation/preference_loss.h"

namespace heed {
namespace {

constexpr int64_t kPairRowsAtOnce = 4096;  // where nothing is learned, about this many in one pass

// `margins` are those of all pairs, or empty where they are not known yet.
PreferenceBatch batch_of(const Preferences& preferences, std::span<const int64_t> pairs,
                         const std::vector<double>& margins, uint64_t first_row) {
  std::vector<int32_t> ids, expected;
  std::vector<int64_t> lengths;
  std::vector<double> own_margins;
  for (const int64_t pair : pairs) {
    const auto i = static_cast<size_t>(pair);
    for (const Conversations* const side : {&preferences.chosen, &preferences.rejected}) {
      const Conversation& one = side->all[i];
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
      expected.insert(expected.end(), one.expected.begin(), one.expected.end());
      lengths.push_back(std::ssize(one.ids));
    }
    own_margins.push_back(margins.empty() ? 0.0 : margins[i]);
  }
  return {.texts = {Sequences(std::move(ids), Segments(lengths, first_row)), Targets(std::move(expected))},
          .reference_margins = std::move(own_margins)};
}

// log p(preferred) - log p(other) of all pairs.
std::vector<double> margins_of(const Inference& inference, const Preferences& preferences) {
  std::vector<double> margins;
  for (int64_t begin = 0; begin < preferences.size();) {
    std::vector<int64_t> pairs;
    for (int64_t rows = 0; begin < preferences.size() && rows < kPairRowsAtOnce; ++begin) {
      pairs.push_back(begin);
      rows += preferences.rows(begin);
    }
    const PreferenceBatch batch = batch_of(preferences, pairs, {}, 0);
    Pass pass = Pass::infer(inference.backend, inference.storage);
    const CausalLM& model = inference.model.causal_lm();
    const std::vector<double> found =
        log_probability_margins(pass, model, model.hidden(pass, batch.texts.tokens), batch);
    margins.insert(margins.end(), found.begin(), found.end());
  }
  return margins;
}

}  // namespace

PreferenceTask::PreferenceTask(const Recipe& recipe, const TaskSetup& setup)
    : ConversationTask(recipe, setup),
      beta_(recipe.of<PreferenceRecipe>().beta),
      train_(read(data().train, "train", setup)),
      validation_(data().validation.empty() ? Preferences() : read(data().validation, "validation", setup)),
      batches_(batches_over(train_.size(), fingerprint_of({&train_.chosen, &train_.rejected}))) {
  if (setup.backend != nullptr) {
    refer_to(recipe, *setup.backend);
  }
}

void PreferenceTask::refer_to(const Recipe& recipe, Backend& backend) {
  const DType storage = storage_of(recipe.training.precision);
  StoredModel reference(ModelFolder{recipe.training.from}, backend, storage);
  reference.unpack_for_products();  // a quantized base of an adapter is computed as in training
  require<FormatError>(reference.text().vocabulary_size() == tokenizers().front()->vocabulary_size(),
                       recipe.training.from, "has another vocabulary than the run");
  const Inference inference{reference.model(), backend, storage};
  train_margins_ = margins_of(inference, train_);
  validation_margins_ = margins_of(inference, validation_);
}

Preferences PreferenceTask::read(const std::vector<std::string>& files, const std::string& name,
                                 const TaskSetup& setup) const {
  if (setup.stored == nullptr) {
    return read_preferences(files, reading());
  }
  Preferences pairs{.chosen = stored(*setup.stored, name + ".chosen"),
                    .rejected = stored(*setup.stored, name + ".rejected")};
  require<FormatError>(pairs.chosen.all.size() == pairs.rejected.all.size(), setup.stored->where(),
                       "the fields of '{}' have different lengths", name);
  return pairs;
}

std::string PreferenceTask::describe_text() const {
  return can_validate() ? train_.text() + "; validation: " + validation_.text() : train_.text();
}

std::vector<std::pair<std::string, int64_t>> PreferenceTask::sizes() const {
  return {{"train_preferences", train_.size()}, {"validation_preferences", validation_.size()}};
}

std::unique_ptr<Shard> PreferenceTask::shard_of(std::span<const int64_t> examples, uint64_t first_row) const {
  return std::make_unique<PreferenceShard>(batch_of(train_, examples, train_margins_, first_row), beta_);
}

void PreferenceTask::store(FieldsToStore& fields) const {
  ConversationTask::store(fields);
  store_conversations(fields, "train.chosen", train_.chosen);
  store_conversations(fields, "train.rejected", train_.rejected);
  if (can_validate()) {
    store_conversations(fields, "validation.chosen", validation_.chosen);
    store_conversations(fields, "validation.rejected", validation_.rejected);
  }
}

Scores PreferenceTask::validate(const Inference& inference) const {
  const std::vector<double> margins = margins_of(inference, validation_);
  const auto pairs = static_cast<double>(margins.size());
  double loss = 0.0, margin = 0.0, right = 0.0;
  for (size_t i = 0; i < margins.size(); ++i) {
    const double reward = beta_ * (margins[i] - validation_margins_[i]);
    loss += preference_loss_of(reward) / pairs;
    margin += reward / pairs;
    right += (reward > 0.0 ? 1.0 : 0.0) / pairs;
  }
  return {.loss = loss,
          .others = {{"reward_margin", margin}, {"accuracy", right}},
          .value = -loss,
          .samples = {},
          .labels = {}};
}

}  // namespace heed
