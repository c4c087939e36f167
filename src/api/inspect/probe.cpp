#include <algorithm>
#include <cmath>
#include <limits>

#include "api/inside/masters.h"
#include "api/inspect/inspected_model.h"
#include "api/inspect/probe_batch.h"
#include "api/inspect/probed_parts.h"
#include "base/system/threads.h"
#include "heed/inspect.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/reach.h"
#include "models/without_dropout.h"
#include "nn/weights/weight_layer.h"
#include "ops/unpacked_weight.h"

namespace heed {
namespace {

constexpr int64_t kAssumedVocabulary = 1000;  // where nothing tells the size
constexpr int64_t kMaxSequences = 64;
constexpr double kSumTolerance = 1e-4;  // of a row of attention weights

void check_probe(const ProbeOptions& options) {
  require<ConfigError>(options.sequences >= 1 && options.sequences <= kMaxSequences, "probe",
                       "{} sequences, expected 1 to {}", options.sequences, kMaxSequences);
}

void check_length(const ProbeOptions& options, const ModelConfig& config) {
  const int64_t most = std::min(kMaxProbedLength, config.max_length);
  require<ConfigError>(!options.length || (*options.length >= 2 && *options.length <= most), "probe",
                       "sequences of {} tokens, expected 2 to {}{}", options.length.value_or(0), most,
                       most < kMaxProbedLength ? ", which is model.max_length" : "");
}

std::string stream_of(const ModelConfig& config) {
  return config.architecture == Architecture::seq2seq ? "target" : "text";
}

// The configuration to run, and what had to be assumed for it.
ModelConfig runnable(const InspectedModel& inspected, const ProbeOptions& options, std::vector<std::string>& notes) {
  const std::string& path = options.path;
  ModelConfig config = inspected.config;
  check_length(options, config);
  notes = inspected.notes;
  for (const VocabularyKey& vocabulary : vocabularies_of(config)) {
    const bool missing = *vocabulary.size == 0;
    if (missing) {
      *vocabulary.size = kAssumedVocabulary;
      notes.push_back(fmt::format("{} {}: assumed, because the text or tokenizer that decides it is missing",
                                  vocabulary.key, *vocabulary.size));
    } else if (std::ranges::find(inspected.open, vocabulary.key) != inspected.open.end()) {
      notes.push_back(
          fmt::format("{} {}: the most that the recipe's tokenizer may have", vocabulary.key, *vocabulary.size));
    }
    require<ConfigError>(*vocabulary.size >= 2, path, "a vocabulary of {}: a probe needs two tokens to change one",
                         *vocabulary.size);
  }
  require<ConfigError>(config.architecture != Architecture::encoder || config.head != Head::none, path,
                       "the model has no head, so that there is no loss to probe");
  if (config.architecture == Architecture::encoder && config.has_labels() && config.labels.empty()) {
    config.labels = {"0", "1"};
  }
  config = without_dropout(std::move(config));
  try {
    config.validate();
  } catch (const ConfigError& error) {
    fail<ConfigError>(path, "{}", error.what());
  }
  return config;
}

// The maps of a layer: for each sequence, for each head, [queries, keys].
ProbedAttention probed_attention(std::string name, const Tensor& weights, const Segments& queries, const Segments& keys,
                                 const VisibilityByHead& visibility, Heads heads) {
  ProbedAttention found{.name = std::move(name), .minimum_sum = std::numeric_limits<double>::infinity()};
  const float* weight = weights.data<float>();
  for (int64_t s = 0; s < queries.count(); ++s) {
    for (int64_t head = 0; head < heads.value; ++head) {
      const Visibility& seen = visibility.parts()[static_cast<size_t>(head * visibility.count() / heads.value)];
      for (int64_t query = 0; query < queries.length(s); ++query) {
        double sum = 0.0;
        for (int64_t key = 0; key < keys.length(s); ++key, ++weight) {
          sum += static_cast<double>(*weight);
          found.on_hidden_keys = seen.sees(query, key) ? found.on_hidden_keys
                                                       : std::max(found.on_hidden_keys, static_cast<double>(*weight));
        }
        found.minimum_sum = std::min(found.minimum_sum, sum);
        found.maximum_sum = std::max(found.maximum_sum, sum);
      }
    }
  }
  return found;
}

double norm_of(const ConstView& values) {
  const auto matrix = host<float>(values);
  double squares = 0.0;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t column = 0; column < matrix.columns; ++column) {
      squares += std::pow(static_cast<double>(matrix(row, column)), 2);
    }
  }
  return std::sqrt(squares);
}

Stack stack_named(const std::string& stack) { return stack == "encoder" ? Stack::encoder : Stack::decoder; }

// Before memory is allocated for the weights and their gradients.
Weights& fitting(Weights& weights, const std::string& path) {
  require_memory_for(weights, 2, path);
  return weights;
}

InspectedModel without_dropout(InspectedModel model) {
  if (model.recipe && model.recipe->adapter.rank > 0) {
    model.recipe->adapter.dropout = 0.0;
  }
  return model;
}

class Probing {
 public:
  explicit Probing(const ProbeOptions& options)
      : options_(options),
        inspected_(without_dropout(inspected_model(options.path, options.overrides))),
        config_(runnable(inspected_, options, probe_.notes)),
        backend_(make_cpu_backend(thread_count(options.threads))),
        model_(Scope(weights_), config_),
        start_(weights_at_start(inspected_, config_, weights_)),
        trainables_(*backend_, fitting(weights_, options.path), DType::f32, Trainables::Gradients::wanted,
                    start_.treatments),
        batch_(config_, options) {
    if (!inspected_.weights.empty()) {
      load_masters_of({options.path}, inspected_.config, *backend_, trainables_);
      return;
    }
    trainables_.initialize(*backend_, options.seed);
    if (inspected_.from != nullptr) {
      inspected_.from->copy(start_.taken, *backend_, trainables_);
      probe_.notes.push_back(start_.taken.text());
      if (!start_.warning.empty()) {
        probe_.notes.push_back(start_.warning);
      }
    }
  }

  Probe take() {
    probe_.sequences = batch_.sequences();
    probe_.tokens =
        batch_.sequences() * (batch_.length(stream_of(config_)) +
                              (config_.architecture == Architecture::seq2seq ? batch_.length("source") : 0));
    probe_.outputs = outputs_of(config_);
    probe_.seed = options_.seed;
    train();
    observe_attention();
    if (config_.architecture == Architecture::seq2seq) {
      change("source");
    }
    change(stream_of(config_));
    return std::move(probe_);
  }

 private:
  void train() {
    Tape tape(1.0 / static_cast<double>(batch_.predictions()));
    PartsObserver observer(config_.architecture == Architecture::seq2seq ? std::vector<std::string>{"source", "target"}
                                                                         : std::vector<std::string>{"embedding"});
    tape.observe(observer);
    Pass pass = Pass::train(*backend_, DType::f32, tape, RandomKey{options_.seed});
    trainables_.begin_update();
    const TokenLosses losses = batch_.loss(pass, model_);
    probe_.loss = losses.total_negative_log_likelihood() / static_cast<double>(batch_.predictions());
    if (config_.head != Head::several_labels && config_.head != Head::number) {
      probe_.uniform_guess = std::log(static_cast<double>(outputs_of(config_)));
    }
    tape.backward(*backend_);
    trainables_.finish_update(*backend_);
    probe_.parts = observer.take();
    add_gradients();
  }

  void add_gradients() {
    for (const Weight& weight : weights_.all()) {
      const bool trained = weight.is_trained();
      const UnpackedWeight unpacked(*backend_, weight, DType::f32);
      probe_.parameters.push_back({weight.name(), weight.shape().text(),
                                   trained ? norm_of(weight.trainable().gradient()) : 0.0,
                                   norm_of(unpacked.view().matrix), trained});
      const ProbedGradient& one = probe_.parameters.back();
      const std::string layer = layer_of_weight(weight);
      if (probe_.layers.empty() || probe_.layers.back().name != layer) {
        probe_.layers.push_back({layer, "", 0.0, 0.0, false});
      }
      ProbedGradient& sum = probe_.layers.back();
      sum.norm = std::hypot(sum.norm, one.norm);
      sum.weights = std::hypot(sum.weights, one.weights);
      sum.trained = sum.trained || one.trained;
    }
  }

  void observe_attention() {
    ProbeMaps maps;
    Pass pass = Pass::infer(*backend_, DType::f32);
    before_ = batch_.outputs(pass, model_, maps);
    const StackOutput& last = before_.back();
    add_maps("encoder", "attention", maps.encoder.self, before_.front());
    add_maps("decoder", config_.architecture == Architecture::seq2seq ? "self_attention" : "attention",
             maps.decoder.self, last);
    for (size_t layer = 0; layer < maps.decoder.cross.size(); ++layer) {
      add_map(fmt::format("decoder.layers.{}.cross_attention", layer), maps.decoder.cross[layer], *last.segments,
              *before_.front().segments, Visibility::full());
    }
    if (!is_labeled_text(config_)) {
      const Logits logits = model_.visit([&](const auto& one) { return one.logits(pass, Hidden(last.rows)); });
      probe_.parts.push_back(probed_part("logits", logits.var().value()));
    }
  }

  void add_maps(const std::string& stack, std::string_view sublayer, const std::vector<Tensor>& maps,
                const StackOutput& output) {
    const std::vector<VisibilityByHead> visibility = visibility_of_layers(config_, stack_named(stack));
    for (size_t layer = 0; layer < maps.size(); ++layer) {
      add_map(fmt::format("{}.layers.{}.{}", stack, layer, sublayer), maps[layer], *output.segments, *output.segments,
              visibility[layer]);
    }
  }

  // A layer without a softmax over keys has no map.
  void add_map(std::string name, const Tensor& map, const Segments& queries, const Segments& keys,
               const VisibilityByHead& visibility) {
    if (!map.empty()) {
      probe_.attention.push_back(
          probed_attention(std::move(name), map, queries, keys, visibility, Heads(config_.heads)));
    }
  }

  // Runs the batch with another token in the middle of the stream's first sequence, and puts the first one back.
  void change(const std::string& stream) {
    const int64_t position = batch_.length(stream) / 2;
    ProbeBatch changed = batch_;
    changed.change(stream, position);
    ProbeMaps maps;
    Pass pass = Pass::infer(*backend_, DType::f32);
    const std::vector<StackOutput> after = changed.outputs(pass, model_, maps);
    for (size_t i = 0; i < after.size(); ++i) {
      compare(stream, position, before_[i], after[i]);
    }
  }

  // Cross-attention sees the whole source. Nothing of the target reaches the encoder.
  std::vector<bool> expected(const std::string& stream, int64_t position, const StackOutput& output) const {
    const int64_t length = output.segments->length(0);
    const bool encoder = output.stack == "encoder";
    if (config_.architecture == Architecture::seq2seq && encoder != (stream == "source")) {
      return std::vector<bool>(static_cast<size_t>(length), !encoder);
    }
    return reached_positions(visibility_of_layers(config_, stack_named(output.stack)),
                             encoder ? config_.encoder_layers : config_.decoder_layers, {length, position});
  }

  void compare(const std::string& stream, int64_t position, const StackOutput& before, const StackOutput& after) {
    const std::vector<bool> may_change = expected(stream, position, before);
    ProbedChange change{.stream = stream,
                        .position = position,
                        .stack = before.stack,
                        .length = before.segments->length(0),
                        .changed = {},
                        .leaks = {},
                        .unchanged = {}};
    for (const int64_t row : differing_rows(before.rows.value(), after.rows.value())) {
      if (row >= change.length) {
        ++change.other_sequences;
        continue;
      }
      change.changed.push_back(row);
      if (!may_change[static_cast<size_t>(row)]) {
        change.leaks.push_back(row);
      }
    }
    for (int64_t row = 0; row < change.length; ++row) {
      if (may_change[static_cast<size_t>(row)] && !std::ranges::binary_search(change.changed, row)) {
        change.unchanged.push_back(row);
      }
    }
    probe_.changes.push_back(std::move(change));
  }

  const ProbeOptions& options_;
  Probe probe_;
  InspectedModel inspected_;
  ModelConfig config_;
  std::unique_ptr<Backend> backend_;
  Weights weights_;
  AnyModel model_;
  WeightsAtStart start_;
  Trainables trainables_;
  ProbeBatch batch_;
  std::vector<StackOutput> before_;
};

}  // namespace

bool Probe::is_sound() const {
  const auto sums_to_one = [](const ProbedAttention& one) {
    return std::abs(one.minimum_sum - 1.0) <= kSumTolerance && std::abs(one.maximum_sum - 1.0) <= kSumTolerance &&
           one.on_hidden_keys <= 0.0;
  };
  const auto has_no_leak = [](const ProbedChange& one) { return one.leaks.empty() && one.other_sequences == 0; };
  return std::ranges::all_of(attention, sums_to_one) && std::ranges::all_of(changes, has_no_leak);
}

Probe probe_model(const ProbeOptions& options) {
  check_probe(options);
  return Probing(options).take();
}

}  // namespace heed
