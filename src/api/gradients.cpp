#include "heed/gradients.h"

#include <cmath>

#include "api/inside/forward.h"
#include "api/inside/masters.h"
#include "base/system/threads.h"
#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "models/without_dropout.h"
#include "ops/tape.h"

namespace heed {
namespace {

// A model directory opened as training has it, in f32.
struct OpenedMasters {
  OpenedMasters(const std::string& directory, Trainables::Gradients gradients, int threads)
      : folder{directory},
        description(load_description(folder)),
        config(without_dropout(description.config)),
        backend(make_cpu_backend(thread_count(threads))),
        model(Scope(weights), config),
        trainables(*backend, fitting(gradients), DType::f32, gradients) {
    load_masters_of(folder, description.config, *backend, trainables);
  }

  Weights& fitting(Trainables::Gradients gradients) {
    // As many numbers again are returned.
    require_memory_for(weights, gradients == Trainables::Gradients::wanted ? 3 : 2, folder.path);
    return weights;
  }

  ModelFolder folder;
  ModelDescription description;
  ModelConfig config;
  std::unique_ptr<Backend> backend;
  Weights weights;
  AnyModel model;
  Trainables trainables;
};

// An array of the shape that a file lists for the weight.
NamedArray named_array(Backend& backend, const Weight& weight, const ConstView& values) {
  NamedArray array{weight.name(), numbers_of(backend, values)};
  array.numbers.shape = stored_shape(weight.shape());
  return array;
}

std::string name_of_example(size_t i) { return fmt::format("batch[{}]", i); }

// The examples as the model takes them. The tape refers to it.
class LossBatch {
 public:
  LossBatch(const ModelConfig& config, std::span<const LossExample> examples, int32_t eos)
      : config_(config), eos_(eos) {
    require<ConfigError>(!examples.empty(), "batch", "is empty");
    for (size_t i = 0; i < examples.size(); ++i) {
      add(examples[i], name_of_example(i));
    }
    expected_ = Targets(std::move(ids_));
    predictions_ = values_.empty() ? expected_.counted() : std::ssize(examples);
    require<FormatError>(predictions_ > 0, "batch", "nothing is predicted");
  }

  int64_t predictions() const { return predictions_; }

  TokenLosses loss(Pass& pass, const Seq2Seq& model) {
    pairs_ = {SourceSequences(read_), TargetSequences(targets_), std::move(expected_)};
    return model.loss(pass, pairs_, Smoothing(0.0F));
  }
  TokenLosses loss(Pass& pass, const CausalLM& model) {
    tokens_ = {Sequences(read_), std::move(expected_)};
    return model.loss(pass, tokens_, Smoothing(0.0F));
  }
  TokenLosses loss(Pass& pass, const EncoderOnly& model) {
    tokens_ = {Sequences(read_), std::move(expected_)};
    if (is_of_tokens()) {
      return model.loss(pass, tokens_, Smoothing(0.0F));
    }
    const Hidden pooled = model.pooled(pass, tokens_.tokens);
    return values_.empty() ? model.loss(pass, pooled, tokens_.expected, Smoothing(0.0F))
                           : model.loss(pass, pooled, LabelTargets{values_, config_.encoder_outputs()});
  }

 private:
  bool is_of_tokens() const { return config_.head == Head::tokens || config_.head == Head::token_labels; }
  bool has_values() const { return config_.head == Head::several_labels || config_.head == Head::number; }

  void add(const LossExample& example, const std::string& where) {
    const bool is_pair = config_.architecture == Architecture::seq2seq;
    const bool is_encoder = config_.architecture == Architecture::encoder;
    require_tokens(example.tokens, is_pair || is_encoder ? config_.source_vocabulary : config_.target_vocabulary,
                   config_.max_length, where);
    read_.push_back(example.tokens);
    if (is_pair) {
      require_tokens(example.target, config_.target_vocabulary, config_.max_length, where + ", target");
      targets_.push_back(example.target);
      ids_.insert(ids_.end(), example.target.begin() + 1, example.target.end());
      ids_.push_back(eos_);
    } else if (!is_encoder) {
      ids_.insert(ids_.end(), example.tokens.begin() + 1, example.tokens.end());
      ids_.push_back(Targets::kIgnored);
    } else {
      add_expected(example, where);
    }
  }

  void add_expected(const LossExample& example, const std::string& where) {
    const int64_t outputs = config_.encoder_outputs();
    if (has_values()) {
      require<FormatError>(std::ssize(example.values) == outputs, where, "{} values, expected {}",
                           example.values.size(), outputs);
      for (const double value : example.values) {
        const bool is_number = config_.head == Head::number;
        require<FormatError>(is_number ? std::isfinite(value) : value == 0.0 || value == 1.0, where,
                             "expects {}, where the model has {}", value, is_number ? "a finite number" : "0 or 1");
        values_.push_back(value);
      }
      return;
    }
    const int64_t wanted = is_of_tokens() ? std::ssize(example.tokens) : 1;
    require<FormatError>(std::ssize(example.expected) == wanted, where, "expects {} outputs, where the model has {}",
                         example.expected.size(), wanted);
    for (const int32_t one : example.expected) {
      require<FormatError>(one < outputs && (one >= 0 || is_of_tokens()), where,
                           "expects output {}, where the model has {}", one, outputs);
      ids_.push_back(one < 0 ? Targets::kIgnored : one);
    }
  }

  const ModelConfig& config_;
  int32_t eos_;
  std::vector<std::vector<int32_t>> read_, targets_;
  std::vector<int32_t> ids_;
  std::vector<double> values_;
  Targets expected_;
  int64_t predictions_ = 0;
  PairBatch pairs_;
  TokenBatch tokens_;
};

int32_t end_of_targets(const ModelFolder& folder, const ModelDescription& description) {
  if (description.config.architecture != Architecture::seq2seq) {
    return Targets::kIgnored;
  }
  return load_tokenizers(folder, description).back()->special().eos.value;
}

}  // namespace

std::vector<NamedArray> read_weights(const std::string& directory) {
  const OpenedMasters opened(directory, Trainables::Gradients::none, 1);
  std::vector<NamedArray> arrays;
  arrays.reserve(opened.weights.all().size());
  for (const Weight& weight : opened.weights.all()) {
    arrays.push_back(named_array(*opened.backend, weight, weight.trainable().master()));
  }
  return arrays;
}

LossGradients loss_gradients(const std::string& directory, std::span<const LossExample> batch, int threads) {
  OpenedMasters opened(directory, Trainables::Gradients::wanted, threads);
  require<ConfigError>(opened.config.architecture != Architecture::encoder || opened.config.head != Head::none,
                       directory, "the model has no head, so that it has no loss");
  LossBatch examples(opened.config, batch, end_of_targets(opened.folder, opened.description));
  LossGradients found{.predictions = examples.predictions(), .gradients = {}};
  Tape tape(1.0 / static_cast<double>(found.predictions));
  Pass pass = Pass::train(*opened.backend, DType::f32, tape, RandomKey{});
  opened.trainables.begin_update();
  const TokenLosses losses = opened.model.visit([&](const auto& model) { return examples.loss(pass, model); });
  found.loss = losses.total_negative_log_likelihood() / static_cast<double>(found.predictions);
  tape.backward(*opened.backend);
  opened.trainables.finish_update(*opened.backend);
  found.gradients.reserve(opened.weights.all().size());
  for (const Weight& weight : opened.weights.all()) {
    found.gradients.push_back(named_array(*opened.backend, weight, weight.trainable().gradient()));
  }
  return found;
}

}  // namespace heed
